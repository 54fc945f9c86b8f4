"""WikiContradict (Hou et al., 2024): questions that two passages of Wikipedia answer differently.

``data.py`` and ``rated_answers.py`` read the published files, ``benchmark.py`` is what the harness
runs, ``judge.py`` rates the answers, ``judge_check.py`` holds that judge against people, and
``annotations.py`` exchanges the annotations with Label Studio.
"""
