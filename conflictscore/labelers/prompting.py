"""What the two modes of the LLM judge share: the prompt, in an order that can be cached."""

from conflictscore.models.language_model import LanguageModel
from conflictscore.models.window import fit_documents
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Claim, Document

__all__ = ["judge_prompt"]


def judge_prompt(
    template: str,
    claim: Claim,
    document: Document,
    *,
    model: LanguageModel,
    prompts: PromptSet,
    reply_tokens: int,
) -> str:
    """Rules, document, claim: a document's prefix is the same for every claim.

    A document longer than the context window is cut, and the prompt says so.
    """
    rules = prompts.render("label_rules")
    around = prompts.render(template, rules=rules, document="", claim=material(claim.text))
    [fitted] = fit_documents(
        [document], model, prompts, around=around, reply_tokens=reply_tokens
    ).documents
    shown = f"{document.title.strip()}\n\n{fitted.text}" if document.title.strip() else fitted.text
    return prompts.render(
        template, rules=rules, document=material(shown), claim=material(claim.text)
    )
