"""A judge without prompts: a cross-encoder for natural language inference, run by onnxruntime.

It compares a claim with every window of a document, and the strongest window decides. It works with
any three-class NLI model exported to ONNX (extra ``[nli]``, no torch).
"""
