"""conflictscore: a RAG loop that finds and corrects claims on which its sources disagree.

```python
from conflictscore import create_self_correcting_rag

graph = create_self_correcting_rag("openai:gpt-4.1-mini", my_retriever)
print(graph.invoke({"question": "Is it safe to reheat rice?"})["answer"])
```
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
