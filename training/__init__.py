"""How the project's own NLI model is made: data, training, export and figures.

None of this is part of the installed package. `training.train` needs only torch, numpy and click.
"""
