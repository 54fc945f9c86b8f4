"""Recognises messages that a framework or chat client wrote on the user's behalf.

A summary of the conversation, a hand-over to a different agent or "Please continue." does not
replace the user's question. A client's housekeeping request, such as Open WebUI's request for a
title, is answered by the model alone, since it does not concern the documents.

The lengths in the patterns were chosen by hand. If a message exceeds a length, it counts as the
user's own, and is checked like any question.
"""

import re
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage

# Characters to examine at the start of a message, where frameworks put their words. The limit keeps
# a long pasted text from being searched.
_LOOKED_AT = 2000

# The patterns match the wordings that LangChain, LangGraph's supervisors, Open WebUI and coding
# agents insert. A message in other words counts as the user's own. Quantifiers are bounded, so that
# matching a hostile text takes linear time.
_CONTINUES = re.compile(
    r"\W{0,3}(?:please |now |ok(?:ay)?,? )?(?:continue|go on|keep going|proceed|carry on|resume)"
    r"(?: (?:with|from) (?:the|your) (?:\w+ ){0,3}\w+| generating| the conversation| please"
    r"|(?: from)? where you left off)?\W{0,3}",
    re.IGNORECASE,
)
# The beginnings of messages in which frameworks summarise a long conversation.
_SUMMARIES = re.compile(
    r"\s*(?:here is a summary of the conversation"
    r"|(?:this is )?a summary of the (?:conversation|previous|earlier)"
    r"|(?:previous |earlier )?conversation summary"
    r"|summary of (?:the |our )?(?:conversation|previous|earlier)"
    r"|\[(?:conversation )?summary\]|<(?:conversation_)?summary>"
    r"|this session is being continued from a previous conversation"
    r"|you are in the middle of a conversation that has been summari[sz]ed"
    r"|for context, here is the conversation so far|<conversation[ _]history>"
    r"|\[?(?:the )?conversation (?:was|has been) (?:handed|transferred)"
    r"|(?:successfully )?(?:transferred|handed (?:off|over)) (?:back )?to \w+)",
    re.IGNORECASE,
)
# Requests by chat programs for a title, tags or follow-up questions.
_TASKS = re.compile(
    r"\s*###\s?Task:\s"
    r"|\s*(?:please )?(?:create|generate|provide|suggest|write|give)(?: me)?(?: \S+){0,8}"
    r" title\b(?=[^?\n]{0,160}\b(?:chat|conversation|discussion|thread|above|words?)\b)"
    r"|\s*(?:please )?(?:generate|suggest|provide)(?: \S+){0,8} (?:tags?|follow[- ]?ups?|follow-up"
    r" questions|search queries)\b(?=[^?\n]{0,160}\b(?:chat|conversation|discussion|history)\b)",
    re.IGNORECASE,
)


def is_framework_message(message: BaseMessage) -> bool:
    """Return whether a framework inserted a human message: a summary, a hand-over or "continue"."""
    if message.additional_kwargs.get("lc_source"):  # LangChain's summarization sets this field
        return True
    text = str(message.text)[:_LOOKED_AT].strip()
    return bool(_CONTINUES.fullmatch(text) or _SUMMARIES.match(text))


def is_client_task(text: str) -> bool:
    """Return whether a text is a chat client's own request, for example for a title."""
    return bool(_TASKS.match(text[:_LOOKED_AT]))


def question_place(messages: Sequence[BaseMessage]) -> int | None:
    """Return the position of the user's last message; None if there is no human message.

    If all human messages come from a framework, return the position of the last one.
    """
    human = [place for place, each in enumerate(messages) if isinstance(each, HumanMessage)]
    questions = [place for place in human if not is_framework_message(messages[place])]
    return next(reversed(questions or human), None)
