"""The paper's figures: section 6, Tables 4 and 5, and the counts of section 6.4.

All figures are of the anonymous ACL submission, which the code follows. The newer version, arXiv
2606.26437v1, has several answering models in multiple choice and puts its prompt for a second look
in Table 17, which is Table 16 of the submission. Of its figures only these are known here: harm
rates below 3 %, and a net gain for every model.

The answering model and the judge were gpt-4.1-mini, with ten documents of a Google search; the
paper gives no intervals and no p.
"""

from conflictscore.benchmarks.paper_figures import PaperFigures, PaperTransitions

PUBLISHED = {
    "free-form": PaperFigures(
        source="Table 4 of the ACL submission",
        model="gpt-4.1-mini",
        questions=779,
        measures={
            "rag": {"truthful": 0.787, "informative": 0.915},
            "control-rag": {"truthful": 0.816, "informative": 0.932},
            "regenerated-rag": {"truthful": 0.824, "informative": 0.932},
        },
        whose="the paper's",
    ),
    "multiple-choice": PaperFigures(
        source="Table 5 and section 6.4 of the ACL submission",
        model="gpt-4.1-mini",
        questions=779,
        measures={
            "rag": {"accuracy": 0.8421},
            "control-rag": {"accuracy": 0.8447},
            "regenerated-rag": {"accuracy": 0.8524},
        },
        transitions=PaperTransitions(
            conflict=248, retained=224, revised=24, corrections=16, harms=8, p_value=0.1516
        ),
        note="arXiv 2606.26437v1: several models, each with a net gain and harms below 3 %",
        whose="the paper's",
    ),
}
