"""Makes the project's own NLI model: prepares its data, trains, exports and measures it.

None of this is part of the installed package. `training.train` needs only torch, numpy and click.
"""
