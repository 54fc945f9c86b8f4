"""The labeler ``nli``: a cross-encoder for natural language inference, run by onnxruntime.

A document is cut into windows of a few sentences, and each window is compared with the claim. The
window with the strongest evidence determines the label. Any NLI model with three classes can be
used if it is exported to ONNX. The extra ``[nli]`` is required; torch is not.
"""
