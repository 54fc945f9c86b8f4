"""From (claim, document) to an evidence label: one protocol, an LLM judge in two modes.

``json`` is the paper's judge (Table 7): snippet, reasoning and label in one JSON object.
``choice`` asks for one letter and reads its probabilities; it costs a fraction.
"""
