"""The labeler ``nli``: a cross-encoder for natural language inference, run by onnxruntime.

It compares a claim with each window of a document, which is a piece of a few sentences. The window
with the strongest evidence decides. Any NLI model with three classes can be used if it is exported
to ONNX. The extra ``[nli]`` is needed, but not torch.
"""
