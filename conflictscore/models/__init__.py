"""From a spec string to a chat model: OpenAI, a compatible endpoint, or the embedded local one.

Import from the modules: ``conflictscore.models.spec.open_model`` for a spec string,
``conflictscore.models.language_model.LanguageModel`` for what the nodes hold.
"""
