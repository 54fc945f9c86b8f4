"""What the judge would be asked about an answer, for the estimate of a dry run."""

from conflictscore.benchmarks.natconfqa.data import NatConfQuestion, Subset, passages_of
from conflictscore.prompts import PromptSet, material, material_line

__all__ = ["planned_prompts"]


def planned_prompts(question: NatConfQuestion, answer: str, prompts: PromptSet) -> list[str]:
    """The prompts, one a call, with all passages.

    What only the first reply could say is assumed: the answer gives as many short answers as there
    are references, and as many conflicts. In a yes/no question they are the references word for
    word, so that nothing is left to decide; elsewhere none is, so that everything is.

    Args:
        question: What was asked.
        answer: Untrusted.
        prompts: The templates of the judge.
    """
    asked, said = material_line(question.question), material(answer)
    apart = prompts.render("natconfqa_decompose", question=asked, answer=said)
    if question.subset is Subset.YES_NO:
        return [apart]
    shown = prompts.documents(passages_of(question))
    texts = [material_line(reference.text) for reference in question.answers]
    pairs = [(texts[one], texts[other]) for one, other in question.conflicts]
    return [
        apart,
        *(
            prompts.render(
                "natconfqa_found_in_answer", question=asked, answer=said, short_answer=text
            )
            for text in texts
        ),
        *(
            prompts.render(
                "natconfqa_found_in_passages", question=asked, documents=shown, short_answer=text
            )
            for text in texts
        ),
        *(
            prompts.render(
                "natconfqa_conflict_in_answer",
                question=asked,
                answer=said,
                first=first,
                second=second,
            )
            for first, second in pairs
        ),
        *(
            prompts.render(
                "natconfqa_conflict_in_passages",
                question=asked,
                documents=shown,
                first=first,
                second=second,
            )
            for first, second in pairs
        ),
    ]
