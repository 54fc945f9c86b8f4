"""From (claim, document) to an evidence label: one protocol, several judges.

``json`` is the paper's judge (Table 7): snippet, reasoning and label in one JSON object.
``choice`` asks for one letter and reads its probabilities; it costs a fraction. ``nli`` is a small
model for inference that reads a document window by window and is asked nothing. ``batching`` holds
the judges that put many pairs into one call. ``cascade`` settles the easy pairs by words and by
``nli``, and has an LLM judge look at the others.
"""
