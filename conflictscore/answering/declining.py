"""Recognises texts that state nothing: refusals, greetings, questions and words of agreement.

No document can support or contradict such a text. A refusal beside a statement ("I do not know the
architect, but the tower burned in 1931") states something.
"""

import re

_LOOKED_AT = 2000  # maximum characters of a text to read; refusals are far shorter

# Repetitions are bounded, so that a search through a hostile text takes linear time.
_REFUSALS = re.compile(
    r"\bi (?:really )?(?:do not|don['\u2019]?t) (?:really |actually )?know\b"
    r"|\bi (?:can(?:not|['\u2019]?t| not)|could(?: not|n['\u2019]?t)|am (?:not able|unable) to"
    r"|won['\u2019]?t|will not) (?:\w+ ){0,2}(?:help|assist|answer|provide|say|tell|find|determine"
    r"|confirm|share|discuss|verify|give|offer|advise|comment|comply|recommend)"
    r"|\bi(?:['\u2019]m| am) (?:not sure|not certain|unsure|unable|sorry)"
    r"|\bi (?:do not have|don['\u2019]?t have|have no|found no|could find no) (?:\w+ ){0,2}"
    r"(?:information|idea|answer|access)"
    r"|\b(?:documents?|sources?|context|texts?|passages?|articles?|pages?)(?: \w+){0,3}"
    r" (?:do|does|did)(?: not|n['\u2019]?t) (?:\w+ ){0,2}"
    r"(?:say|state|mention|specify|contain|tell|provide|give|answer|include|indicate)"
    r"|\bthere (?:is|was) no (?:\w+ ){0,2}(?:information|mention)\b"
    r"|\bich wei(?:ß|ss) (?:\w+ ){0,2}nicht"
    r"|\bich kann (?:\w+ ){0,6}nicht (?:helfen|beantworten|sagen)"
    r"|\b(?:das|dies|darauf|diese frage) kann ich (?:\w+ ){0,3}nicht"
    r"|\bmir (?:\w+ ){0,3}keine (?:\w+ )?(?:informationen|angaben|auskünfte)"
    r"|\bich bin (?:mir )?nicht sicher|\bdazu kann ich|\bes tut mir leid"
    r"|\b(?:dokumente|quellen|unterlagen)(?: \w+){0,6} nicht\b"
    r"|\bje ne (?:le )?sais pas|\bje ne peux pas|\bje suis désolée?"
    r"|\bje ne suis pas (?:sûre?|certaine?)"
    r"|\b(?:documents|sources|textes|extraits)(?: \w+){0,3} n(?:e |['\u2019])(?:\w+ ){0,2}"
    r"(?:précis|mentionn|indiqu|di[st]|contien|donn|parl)"
    r"|\b(?:documentos|fuentes|fontes|textos)(?: \w+){0,3} (?:no|não) (?:\w+ ){0,2}"
    r"(?:indica|menciona|di[cz]|especifica|cont|informa|proporciona)"
    r"|\b(?:documenti|fonti|testi)(?: \w+){0,3} non (?:\w+ ){0,2}"
    r"(?:indica|menziona|dic|specifica|cont|riporta)"
    r"|\b(?:documenten|bronnen)(?: \w+){0,6} niet\b"
    r"|\b(?:dokumenten|källorna|dokumenterne|kilderne|dokumentene|kildene)(?: \w+){0,4} "
    r"(?:inte|ikke)\b"
    r"|\b(?:dokumenty|źródła)(?: \w+){0,2} nie (?:\w+ )?(?:podaj|mówi|wspomin|zawier)"
    r"|\b(?:документ|источник)\w{0,3}(?: \w+){0,3} не (?:\w+ )?(?:указ|говор|сообщ|содерж|упомин)"
    r"|\bno (?:lo )?sé\b|\bno puedo (?:ayudar|responder|decir)|\blo siento"
    r"|\bnon (?:lo )?so\b|\bnon posso (?:aiutar|risponder)|\bmi dispiace"
    r"|\bnão sei\b|\bnão posso (?:ajudar|responder)|\bdesculpe"
    r"|\bik weet (?:\w+ )?niet|\bik kan (?:\w+ ){0,6}niet (?:helpen|beantwoorden)|\bhet spijt me"
    r"|\bjag vet (?:\w+ )?inte|\bjag kan (?:\w+ )?inte|\bjeg (?:v[eé]d|vet|kan) (?:\w+ )?ikke"
    r"|\bnie wiem|\bnie mogę|\bя не (?:знаю|могу)|к сожалению, я"
    r"|わかりません|分かりません|お手伝いできません|存じません|お答えできません|申し訳"
    r"|我不知道|我不清楚|我无法|我不能|抱歉|모르겠습니다|알 수 없"
    r"|도와드릴 수 없|답변할 수 없|لا أعرف|لا أستطيع|मुझे नहीं पता|אני לא יודע"
    r"|\bbilmiyorum|\bnem tudom|\ben (?:tiedä|osaa sanoa)|\bnu (?:știu|stiu)"
    r"|\bδεν (?:γνωρίζω|ξέρω)|نمی\u200cدانم"  # noqa: RUF001 - Greek and Persian
    r"|\btôi không (?:biết|thể)|\bnevím|\bsaya tidak (?:tahu|dapat)",
    re.IGNORECASE,
)
"""Matches words with which a speaker refuses to answer, or admits not knowing the answer.

The subject of each phrase is "I" or the documents, so statements about other people do not match.
"""
_GREETINGS = re.compile(
    r"\s*(?:hello|hi|hey|good (?:morning|evening|day)|thank(?:s| you)|you['\u2019]?re welcome"
    r"|sure|of course|certainly|great question|happy to help"
    r"|hallo|guten (?:tag|morgen|abend)|danke|gerne?|bonjour|merci|hola|gracias|ciao|grazie"
    r"|olá|obrigad[oa]|hej|tack|cześć|привет|здравствуйте|спасибо|こんにちは|ありがとう|你好|谢谢)"
    r"(?:[ ,]{1,2}[^\W\d]{1,16}){0,3}[\s.!。\uff01]*",
    re.IGNORECASE,
)
# Words by which a chatbot agrees with or apologises to its user before it answers. They state
# nothing themselves.
_AGREEMENT = re.compile(
    r"\s*(?:(?:yes|ok|okay|right|correct|exactly|indeed|absolutely|of course|sorry|good catch)"
    r"[,.!;:]?\s{1,2})?(?:you(?:['\u2019]re| are) (?:absolutely |quite |completely )?right"
    r"|that(?:['\u2019]s| is) (?:right|correct|true)"
    r"|i (?:agree|apologi[sz]e|stand corrected)|as you (?:say|said)|my (?:mistake|apologies)"
    r"|(?:ja[, ]{1,2})?(?:sie haben|du hast) (?:völlig |ganz )?recht|das stimmt|stimmt|genau"
    r"|(?:vous avez|tu as) (?:tout à fait )?raison|tienes razón|tiene razón|hai ragione|ha ragione"
    r"|tem razão|(?:je hebt|u heeft) gelijk|du har rätt|du har ret|masz rację|вы правы|ты прав)"
    r"(?:[,.!;:\u2014\u2013-]|\s[\u2014\u2013-])\s{1,2}(?=\w)",
    re.IGNORECASE,
)
_QUESTION_ENDS = ("?", "\uff1f", "\u061f", "か。")
# The places in a refusal where a statement may begin.
_NEXT_STATEMENT = re.compile(
    r"[.;:!\u2014\u2013]\s{1,3}|[,.;]?\s(?:but|however|although|though|nevertheless|aber|jedoch|doch"
    r"|mais|pourtant|toutefois|pero|aunque|ma|però|mas|porém|maar|men|ale|но)[\s,]|[,\uff0c。]\s?但",
    re.IGNORECASE,
)
# Words with which the speaker addresses the user or refers to itself.
_OF_DIALOGUE = re.compile(
    r"\b(?:you|your|(?-i:I)|me|my|we|us|please|ich|mir|mich|sie|ihnen|ihre?|wir|bitte|je|moi|vous"
    r"|votre|nous|usted|yo|por favor|io|mi|eu|você|ik|mij|uw|jag|du|jeg|я|вы|вас)\b",
    re.IGNORECASE,
)
_LEAST_WORDS = 4  # minimum words of a statement without a number


def without_agreement(text: str) -> str:
    """Remove an opening that agrees with the user, as in "You're right, it was so".

    After a correction, such an opening would agree with a statement that the answer no longer
    makes.
    """
    match = _AGREEMENT.match(text)
    if match is None:
        return text
    rest = text[match.end() :]
    return rest[:1].upper() + rest[1:]


def asserts_nothing(text: str) -> bool:
    """Return whether a text only refuses, greets, asks, or says that the speaker does not know.

    This covers the languages of :data:`~conflictscore.answering.languages.LANGUAGES`, and some
    phrases of other languages.
    """
    plain = text[:_LOOKED_AT].strip()
    if not plain or plain.endswith(_QUESTION_ENDS):
        return bool(plain)
    if _GREETINGS.fullmatch(plain):
        return True
    return bool(_REFUSALS.search(plain)) and not any(
        map(_states_something, _NEXT_STATEMENT.split(plain))
    )


def _states_something(clause: str) -> bool:
    """Return whether a clause next to a refusal is a statement about the world."""
    if _REFUSALS.search(clause) or _OF_DIALOGUE.search(clause):
        return False
    n_words = len(clause.split())
    return n_words >= _LEAST_WORDS or (n_words > 1 and any(map(str.isdigit, clause)))
