"""Recognises texts that state nothing: refusals, greetings, questions and words of agreement.

No document can support or contradict such a text. A refusal next to a statement ("I do not know the
architect, but the tower burned in 1931") states something. When in doubt, a text counts as stating
something, since a statement that is taken for a refusal would not be checked.

Limits without a stated reason were chosen by hand.
"""

import re

from conflictscore.scripts import words_in

# A text longer than this many characters is never taken for a mere refusal. Real refusals are far
# shorter.
_LOOKED_AT = 2000
_NEWS = r"(?:information\w*|info|details?|data|answers?|mention|evidence|idea|access)"
# Sources that the speaker was given: "the provided documents", but not "the sources of the Danube".
_GIVEN = (
    r"(?:the|these|this|those|any of the|none of the|your) (?:(?:given|provided|available|retrieved"
    r"|supplied|above|search|source|following) ){0,2}"
    r"(?:documents?|sources?|context|texts?|excerpts?|passages?|articles?|pages?)"
    r"(?: (?:provided|available|given|above|that|you|gave|me|i|have|here|unfortunately|also)){0,4}"
)
# Repetitions are bounded, so that a search through a hostile text takes linear time. Most phrases
# are in one group that begins with a word, so that a search passes over all other characters.
_REFUSALS = re.compile(
    r"\b(?:\bi (?:really |honestly |also )?(?:do not|don[\u2019']?t) (?:really |actually )?know\b"
    r"|\bi (?:can(?:not|[\u2019']?t| not)|could(?: not|n[\u2019']?t)|am (?:not able|unable) to"
    r"|won[\u2019']?t|will not) (?:\w+ ){0,2}(?:help|assist|answer|provide|say|tell|find|determine"
    r"|confirm|share|discuss|verify|give|offer|advise|comment|comply|recommend)"
    r"|\bi(?:[\u2019']m| am) (?:not sure|not certain|unsure|unable)"
    r"|\bi (?:do not have|don[\u2019']?t have|have no|found no|could find no)"
    rf" (?:\w+ ){{0,2}}{_NEWS}"
    rf"|\b{_GIVEN} (?:do|does)(?: not|n[\u2019']?t) (?:\w+ ){{0,2}}"
    r"(?:say|state|mention|specify|contain|tell|provide|give|answer|include|indicate|cover|address)"
    rf"|\b{_GIVEN} did(?: not|n[\u2019']?t) (?:\w+ ){{0,2}}(?:mention|specify|contain|include"
    rf"|indicate)"
    r"|\bthere is no (?:\w+ ){0,2}information(?= (?:about|on|regarding|concerning|in|available)\b"
    rf"|[.,]|$)|\bthere is no (?:\w+ ){{0,2}}mention of (?:\w+ ){{1,6}}in {_GIVEN}"
    r"|\bnone of the (?:\w+ )?(?:documents|sources|texts|passages) (?:say|state|mention|specif"
    r"|tell)"
    r"|\bich wei(?:ß|ss) (?:\w+ ){0,2}nicht"
    r"|\bwei(?:ß|ss) ich (?:\w+ ){0,3}nicht|\bweet ik (?:\w+ ){0,3}niet"
    r"|\b(?:vet jag|ved jeg|vet jeg) (?:\w+ ){0,2}(?:inte|ikke)"
    r"|\bich kann (?:\w+ ){0,6}nicht (?:helfen|beantworten|sagen)"
    r"|\b(?:das|dies|darauf|diese frage) kann ich (?:\w+ ){0,3}nicht"
    r"|\bdazu kann ich (?:\w+ ){0,3}(?:nichts|nicht|keine)"
    r"|\bmir (?:\w+ ){0,3}keine (?:\w+ )?(?:informationen|angaben|auskünfte)"
    r"|\b(?:dazu |darüber )?(?:habe ich|ich habe) (?:\w+ ){0,2}keine (?:\w+ )?(?:informationen"
    r"|angaben|auskünfte|ahnung)"
    r"|\b(?:ich bin|bin ich) (?:mir )?(?:\w+ )?nicht sicher"
    r"|\b(?:die|diese|den|diesen|keines der|meine|meinen|ihre|ihren) (?:\w+en )?(?:dokumenten?"
    r"|quellen"
    r"|unterlagen|texten?) (?:\w+ ){0,1}(?:(?:sag|nenn|erwähn|beantwort|besag|verrat)e?n"
    r" (?:\w+ ){0,5}nichts?\b|(?:enthalten|geben|machen|liefern) (?:\w+ ){0,3}keine? (?:\w+ )?"
    r"(?:information\w*|angaben?|auskunft|auskünfte|hinweise?|antwort)"
    r"|geht (?:\w+ ){0,3}nicht hervor|steht (?:\w+ ){0,2}nichts?\b|geht nicht\b)"
    r"|\bje ne (?:le )?sais pas|\bje ne peux (?:malheureusement )?pas"
    r"|\bje n[\u2019']ai (?:pas|aucune?) (?:\w+ ){0,2}(?:d[\u2019'])?(?:information|réponse|donnée"
    r"|idée)"
    r"|\bje ne suis pas (?:sûre?|certaine?)"
    r"|\b(?:les|ces|vos) (?:documents|sources|textes|extraits)(?: (?:fournis|fournies|disponibles"
    r"|donnés|données))? n(?:e |[\u2019'])(?:\w+ ){0,2}(?:(?:précis|mentionn|indiqu|di[st]"
    r"|parl)\w* "
    r"(?:pas|rien)\b|(?:contien|donn|fourni)\w* (?:pas|aucune?) (?:d[\u2019'e] ?)?(?:information"
    r"|réponse"
    r"|précision|détail|indication|date))"
    r"|\b(?:los|las|estos|estas|os|as|estes|estas) (?:documentos|fuentes|fontes|textos)"
    r"(?: (?:proporcionad|disponibl|fornecid|disponíve|dad)\w{1,3})? (?:no"
    r"|não) (?:l[oa] )?(?:(?:indica"
    r"|menciona|di[cz]e|especifica|informa|precisa)\w*|(?:contien|contêm|contém|proporciona"
    r"|fornece|da)\w* "
    r"(?:\w+ ){0,2}(?:informa|datos|dados|respuesta|resposta|detalle))"
    r"|\b(?:i|le|questi|queste) (?:documenti|fonti|testi)(?: (?:fornit|disponibil|dat)\w)? non"
    r" (?:l[oa] )?(?:(?:indica|menziona|dic|specifica|riporta|precisa)\w*|(?:conten|fornisc"
    r"|danno)\w* "
    r"(?:\w+ ){0,2}(?:informazion|rispost|dettagl|dat[oi]\b))"
    r"|\b(?:de|deze|die) (?:\w+e )?(?:documenten|bronnen|teksten) (?:(?:zeggen|vermelden|noemen"
    r"|geven"
    r"|bevatten|beantwoorden) (?:\w+ ){0,5}niets?\b|(?:bevatten|geven) (?:\w+ ){0,2}geen (?:\w+ )?"
    r"(?:informatie|antwoord|gegevens))"
    r"|\b(?:dokumenten|källorna|dokumenterne|kilderne|dokumentene|kildene) (?:säger|nämner|anger"
    r"|siger|nævner|angiver|oplyser|sier|nevner|opplyser|oppgir|besvarar"
    r"|besvarer) (?:\w+ ){0,3}(?:inte|inget|ikke)"
    r"\b|\b(?:dokumenten|källorna|dokumenterne|kilderne|dokumentene|kildene) (?:innehåller"
    r"|indeholder|inneholder|ger|giver|gir) (?:inga|ingen|inte) (?:\w+ )?(?:information|uppgift"
    r"|oplysning|opplysning|informasjon|svar)"
    r"|\b(?:te |podane |dostępne )?(?:dokumenty|źródła) (?:tego )?nie (?:\w+ )?(?:podaj|mówi"
    r"|wspomin"
    r"|zawieraj\w* (?:\w+ )?(?:informacji|odpowiedzi|danych))"
    r"|\b(?:документы|источники|документах|источниках)(?: (?:этого|об этом"  # noqa: RUF001 - Russian
    r"|это))? не"
    r" (?:\w+ )?(?:указ|говор|сообщ|упомин|содерж\w* (?:\w+ )?(?:информации|сведений|данных"
    r"|ответа))"
    r"|\bno (?:lo )?sé\b|\bno puedo (?:ayudar|responder|decir)|\bno tengo (?:\w+ ){0,2}(?:informaci"
    r"|datos|idea|acceso)|\bno estoy segur[oa]"
    r"|\bnon (?:lo )?so\b|\bnon posso (?:aiutar|risponder|dir)|\bnon ho (?:\w+ ){0,2}(?:informazion"
    r"|dati|idea|accesso)|\bnon sono sicur[oa]"
    r"|\bnão sei\b|\bnão posso (?:ajudar|responder|dizer)|\bnão tenho (?:\w+ ){0,2}(?:informa|dados"
    r"|ideia|acesso|certeza)"
    r"|\bik weet (?:\w+ ){0,2}niet|\bik kan (?:\w+ ){0,6}niet (?:helpen|beantwoorden|zeggen)"
    r"|\bik heb (?:\w+ ){0,2}geen (?:\w+ )?(?:informatie|idee|gegevens)|\b(?:dat|daar) (?:weet|kan)"
    r" ik (?:\w+ ){0,3}niet|\bik ben (?:er )?niet zeker"
    r"|\bjag vet (?:\w+ ){0,2}inte|\bjag kan (?:\w+ )?inte|\bjeg (?:v[eé]d|vet"
    r"|kan) (?:\w+ ){0,2}ikke"
    r"|\b(?:jag har|har jag) (?:\w+ )?ingen (?:\w+ )?(?:information|aning)"
    r"|\bjeg har (?:\w+ )?ingen (?:\w+ )?"
    r"(?:information|oplysning|opplysning|informasjon|anelse)|\bdet (?:vet|ved) (?:jag"
    r"|jeg) (?:\w+ )?"
    r"(?:inte|ikke)"
    r"|\bnie wiem|\bnie mogę (?:\w+ ){0,3}(?:odpowiedzieć|pomóc|powiedzieć|udzielić)"
    r"|\bnie mam (?:\w+ ){0,2}(?:informacji|danych|pojęcia)|\bnie jestem pew"
    r"|\bя не (?:знаю|могу (?:\w+ ){0,3}(?:ответить|помочь|сказать|дать|предоставить)|уверен)"
    r"|\bк сожалению, (?:я|мне) (?:\w+ ){0,2}не"
    r"|\bу меня нет (?:\w+ ){0,2}(?:информации|данных|ответа)"  # noqa: RUF001 - Russian
    r"|\bbilmiyorum|\bnem tudom|\ben (?:tiedä|osaa sanoa)|\bnu (?:știu|stiu)"
    r"|\bδεν (?:γνωρίζω|ξέρω)"  # noqa: RUF001 - Greek
    r"|\btôi không (?:biết|thể)|\bnevím|\bsaya tidak (?:tahu|dapat))"
    # these begin at any character
    r"|^\W*(?:not sure|no idea|keine ahnung|aucune idée|ni idea|nessuna idea|geen idee"
    r"|ingen aning)\W*$"
    r"|わかりません|分かりません|わからない(?=[。です]|$)|お手伝いできません|存じません|お答えできません"
    r"|情報(?:は|が)?(?:ありません|含まれていません|ございません)|記載(?:は|が)?(?:ありません|されていません)"
    r"|我不知道|我(?:不太|并不|不)(?:清楚|确定)|我(?:们)?无法(?:\w{0,6})(?:回答|提供|确定|帮|协助|告诉|判断|确认|给出)"
    r"|我不能(?:\w{0,6})(?:回答|提供|确定|帮|协助|告诉|判断|确认|给出)|无法回答"
    r"|我没有(?:\w{0,6})(?:信息|资料|数据)"
    r"|(?:文档|文件|资料|上下文|文本)(?:中|里)?(?:并)?(?:没有|未)(?:\w{0,4})(?:提|说|指|包含|给出|信息)"
    r"|모르겠습니다|모릅니다|알 수 (?:없습니다|없어요|없네요)"
    r"|도와드릴 수 없|답변(?:해 드릴|할) 수 없"
    r"|(?:정보|내용)[가은는]? (?:없습니다|포함되어 있지 않)"
    r"|لا أعرف|لا أستطيع|لا أدري|ليس لدي (?:أي )?معلومات|मुझे नहीं पता|אני לא יודע"
    r"|نمی\u200cدانم",  # noqa: RUF001 - Persian
    re.IGNORECASE,
)
"""Matches words with which a speaker refuses to answer, or admits not knowing the answer.

The subject of each phrase is "I" or the speaker's documents. So statements about other people do
not match, and neither do other senses of "source", such as the source of a river.
"""
# Polite words at the beginning of a clause. Such words refuse nothing themselves: "Sorry, it was
# 1931."
_APOLOGY = re.compile(
    r"\s*(?:(?:i(?:[\u2019']m| am) (?:so |very |really )?)?sorry(?: (?:about|for) (?:that|this|the"
    r" (?:confusion|inconvenience)))?|(?:my |i )?apologi(?:es|[sz]e)(?: for (?:that"
    r"|the (?:confusion"
    r"|inconvenience)))?|(?:es )?tut mir (?:sehr )?leid|entschuldigung|(?:je suis )?désolée?"
    r"|lo siento(?: mucho)?|mi dispiace|(?:me )?desculpe|sinto muito|het spijt me"
    r"|(?:jag är )?ledsen"
    r"|(?:jeg )?beklager|tyvärr|desværre|unfortunately|sadly|leider|malheureusement|lamentablemente"
    r"|desafortunadamente|purtroppo|infelizmente|helaas|niestety|przykro mi|к сожалению|извините"
    r"|простите|(?:很|非常|真)?抱歉|对不起|不好意思|申し訳(?:ありません|ございません|ないです)が?"
    r"|すみませんが?|残念ながら|죄송합니다만?|죄송하지만|آسف|عذرا|عذراً)(?![^\W\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af])"
    r"[\s,.!:;\uff0c\u3001\u3002\uff01\u060c]*",
    re.IGNORECASE,
)
# Words after a greeting: "Hello there", "Thanks for your question".
_COURTESY = (
    r"(?:[\s,!.]{1,2}(?:there|everyone|everybody|all|again|you|so|very|much|a lot|for (?:asking"
    r"|your (?:question|patience|message)|the question|reaching out|(?:your )?understanding)"
    r"|friend|welcome|happy to help"
    r"|glad to help|sehr|schön|vielmals|zusammen|für (?:die|ihre|deine) frage|beaucoup|bien|à tous"
    r"|pour votre question|muchas|a todos|por (?:tu|su|a sua) pregunta|mille|a tutti|mycket|bardzo"
    r"|большое|ございます|\uff0c|、))"
)
_GREETINGS = re.compile(
    r"\s*(?:(?:(?:sure|of course|certainly|yes)[,!.]?\s)?(?:hello|hi|hey|good (?:morning|evening"
    r"|day|afternoon)|(?:many )?thank(?:s| you)|you[\u2019']?re (?:very |most )?welcome"
    r"|great question|good question"
    r"|(?:i[\u2019']m |i am |i[\u2019']d be |i would be )?(?:happy|glad) to help)"
    r"|hallo|guten (?:tag|morgen|abend)|danke|vielen dank|gern geschehen|bonjour|bonsoir|salut"
    r"|merci"
    r"|hola|buen(?:os|as) (?:días|tardes|noches)|(?:muchas )?gracias|de nada|ciao|buongiorno"
    r"|grazie|prego"
    r"|olá|bom dia|obrigad[oa]|hej|tack|tak|takk|cześć|dzień dobry|dziękuję|привет|здравствуйте"
    r"|спасибо"
    r"|пожалуйста|こんにちは|ありがとう|你好|您好|谢谢|안녕하세요|감사합니다|مرحبا|شكرا|merhaba|szia)"
    rf"{_COURTESY}{{0,4}}[\s.!,。\uff01]*",
    re.IGNORECASE,
)
# Words with which a chatbot agrees with its user, or apologises, before it answers. These words
# state nothing themselves.
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
# Question marks (usual, full-width, Arabic), and the Japanese particle that ends a question.
_QUESTION_ENDS = ("?", "\uff1f", "؟", "か。", "か")
# Words with which a question begins, so that a colon or dash within it separates no statement.
_ASKS = re.compile(
    r"\W*(?:do|does|did|is|are|was|were|which|what|who|when|where|how|why|can|could|would|shall"
    r"|should|may|welche\w?|wer|wann|wo|was|wie|meinen|meinst|quel\w*|qui|quand|où|est-ce|qué|cuál"
    r"|quién|quale|chi|qual|quem|welke|wie|wat|vilken|vem|hvilken|hvem|która|który|kto|czy|как\w*"
    r"|кто|когда)\b",
    re.IGNORECASE,
)
# A statement that ends as a question: "It was built in 1889, right?"
_TAG = re.compile(
    r"[,\uff0c]\s?(?:right|correct|(?:is|was|are|were|does|did|has)n[\u2019']t (?:it|he|she|they)"
    r"|oder"
    r"|nicht wahr|n[\u2019']est-ce pas|¿?verdad|¿?no|vero|certo|né|não é|toch|eller hur|ikke sandt"
    r"|ikke sant|prawda|не так ли|правда|对吗|对吧)\s?[?\uff1f]$",
    re.IGNORECASE,
)
# Full stops of all scripts, perhaps followed by closing quotation marks and Markdown.
_SENTENCE_END = re.compile(r"(?<=[.!?;؟])[\"”»)*_]{0,3}\s+|(?<=[。\uff01\uff1f\uff1b।])|\n+")
# Words after which a refusal continues with a statement or a reason, which states something unless
# it is a refusal itself. Words with a different meaning in another language (Dutch "men" in "how
# many men died") must follow a comma or a negation.
_BUT = re.compile(
    r"[,;]?\s(?:but|however|although|though|nevertheless|aber|jedoch|mais|pourtant|toutefois|pero"
    r"|aunque|sin embargo|però|tuttavia|porém|no entanto|maar|однако|но|fakat|ama)[\s,]"
    r"|,?\s(?:because|weil|parce que|perché|omdat|fordi|eftersom|ponieważ|потому что)\s"
    r"|,\s(?:ma|mas|men|ale|doch|lecz|a|де|hanem|yet|sed)\s"
    r"|(?<=inte|ikke|niet|wiem| sei)\s(?:men|ale|mas|maar)\s|(?<= so)\sma\s"
    r"|[,\uff0c。、]?\s?(?:但是|但|不过|然而|可是)|(?<=せん|ます|です|ない)(?:が|けれども?|けど)[、,]?"
    r"|しかし|(?<=니다)만[\s,]|지만[\s,]|는데[\s,]|،?\s(?:لكن|ولكن)\s",
    re.IGNORECASE,
)
# Places where a clause may begin that either continues the refusal or makes a statement.
_MAYBE_NEXT = re.compile(
    r"[:—–]\s{0,3}|\s-\s|[\uff0c,]\s?(?=[^\W\d_]?[\u3040-\u30ff\u4e00-\u9fff])"
    r"|,\s(?:and\s)?(?=(?:the|it|its|he|she|they|there|which|maybe|perhaps|probably|possibly|likely"
    r"|der|die|das|er|sie|es|vielleicht|wahrscheinlich|vermutlich|le|la|les|il|elle|peut-être"
    r"|probablement|el|los|las|fue|quizás?|tal vez|probablemente|lo|gli|forse|probabilmente|o|os|as"
    r"|foi|talvez|provavelmente|het|misschien|waarschijnlijk|det|den|kanske|måske|kanskje"
    r"|prawdopodobnie|być może|возможно|вероятно)\s)",
    re.IGNORECASE,
)
# Offers and requests that speakers add after a refusal. Such words must begin the clause, since
# "you", "us", "du" and "sie" occur in statements too.
_OF_DIALOGUE = re.compile(
    r"\W*(?:(?:and|so|und|et|y|e|en|och|og)\s)?(?:(?:please|kindly|bitte|veuillez|por favor"
    r"|per favore|alstublieft|vänligen|proszę|пожалуйста|请)(?!\W{0,2}(?:\w+\W+){0,2}(?:note"
    r"|remember"
    r"|aware|mind|beacht|noter|tenga|let op|pamięta|учтите|обратите|merk|observera)|注意)"
    r"|feel free|let me know|don[\u2019']t hesitate|(?:perhaps|maybe|could|would) you\b"
    r"|if you\b[^,]{1,80}, (?:i|please|feel|let)\b"
    r"|you (?:can|could|may|might|should)(?: \w+){0,2} (?:ask|check|try|consult|contact|rephrase"
    r"|provide|specify|clarify|refer to|seek|search|look)\b"
    r"|i(?: (?:can|could|would|will)|[\u2019'](?:d|ll))(?: \w+){0,3} (?:help|assist|look|search"
    r"|try|check"
    r"|answer|happy|glad)\b|i(?:[\u2019']m| am) (?:just |only )?an? (?:\w+ ){0,2}(?:ai|model"
    r"|assistant"
    r"|chatbot)\b|i (?:hope|recommend|suggest|advise) (?:you|that you|consulting|checking|asking"
    r"|contacting|that helps)\b|as an ai\b|my (?:training|knowledge|guidelines|instructions)\b"
    r"|ich (?:bin (?:nur )?ein|kann (?:ihnen|dir)|helfe (?:ihnen|dir))|gerne? (?:kann|helfe) ich"
    r"|wenn (?:sie|du)\b[^,]{1,80}, (?:kann|helfe|suche|versuche) ich|(?:fragen|wenden|prüfen"
    r"|lassen) sie\b|(?:sie|du) (?:könne?n|könnten|kannst|sollten) (?:\w+ ){0,4}(?:fragen|wenden"
    r"|nachsehen|prüfen|suchen)\b"
    r"|n[\u2019']hésitez pas|si vous\b[^,]{1,80}, je\b|vous (?:pouvez|pourriez|devriez) (?:\w+ )?"
    r"(?:consulter|demander|vérifier|contacter|chercher)|je (?:suis une? (?:ia|assistant|modèle)"
    r"|peux vous|reste)\b|puedes? (?:consultar|preguntar|verificar)|puedo ayudar|soy un"
    r"|si\b[^,]{1,80}, (?:puedo|posso|podré)\b|pu(?:ò|oi) (?:consultare|chiedere)|posso (?:aiutar"
    r"|ajud)|você pode (?:consultar|perguntar|verificar)"
    r"|als (?:u|je)\b[^,]{1,80}, (?:kan|help) ik|(?:u|je) (?:kunt|kan|kun) (?:\w+ ){0,3}(?:vragen"
    r"|raadplegen|zoeken|proberen)|ik (?:kan (?:u|je)|ben een)\b|laat het (?:me|mij) weten"
    r"|(?:om|hvis) du\b[^,]{1,80}, kan (?:jag|jeg)|du kan (?:\w+ )?(?:fråga|söka|spørge|søge"
    r"|spørre)"
    r"|możesz (?:zapytać|sprawdzić)|jeśli\b[^,]{1,80}, (?:mogę|chętnie)|вы можете (?:спросить"
    r"|проверить|обратиться)|если\b[^,]{1,80}, я\b"
    r"|如果[您你]|[您你]可以\w{0,4}(?:问|查|咨询|联系|参考|提供)|我(?:可以|会|很乐意)\w{0,6}(?:帮|协助|回答)"
    r"|我(?:只)?是\w{0,4}(?:人工智能|语言模型|助手)"
    r"|[^。]{0,80}(?:ください|お願いします|お願いいたします|幸いです)[。\uff01!]?$"
    r"|[^.]{0,80}(?:주세요|주십시오|바랍니다)[.!]?$)",
    re.IGNORECASE,
)
# Words with which a clause before a refusal may only introduce it: "As for the tower, …"
_INTRODUCES = re.compile(
    r"\W*(?:as|based|according|from|in|on|for|about|regarding|concerning|given|while|when|without"
    r"|to|with|beyond|laut|nach|gemäß|auf|aus|zu|bei|als|was|d[\u2019']après|selon|en|sur"
    r"|concernant"
    r"|quant|como|según|con|de acordo|sobre|com|secondo|in base|per|volgens|op|som|enligt|ifølge"
    r"|baserat|na podstawie|według|jako|на основе|согласно|как"
    r"|根据|关于|作为|由于|对于|基于|就|在)",
    re.IGNORECASE,
)
# A comma or "and" at the end of a text, after which a list or sentence goes on.
_JOINED = re.compile(r"(?:[,\uff0c、:]|\s(?:and|und|et|y|e|en|och|og|i|и))\s?$", re.IGNORECASE)
# A name before "I" makes it a numeral: "Elizabeth I could not give England an heir."
_NAMED_FIRST = re.compile(r"(?<![^\W_])(?!(?:And|But|So|Yet|Still|That)\s)[A-Z][a-z]+\s$")
# An opening quotation mark, or a verb that introduces a quotation.
_QUOTES = re.compile(r"[\"“„«「]|\b(?:sa(?:id|ys)|wrote|answered|sagte|schrieb|dijo|disse)\b")
# A shorter clause after a comma, without a number or a name, belongs to the refusal: "I do not
# know the architect, and the year". After "but", or in a sentence of its own, each word counts.
_LEAST_WORDS = 4


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

    Each sentence of such a text must do one of these. The patterns cover the languages of
    :data:`~conflictscore.answering.languages.LANGUAGES`, and some phrases of other languages. An
    empty string does none of these things; callers must report it as missing, not as a refusal.
    """
    plain = text.strip(' \t\r\n*_"“”')
    if not plain or len(plain) > _LOOKED_AT:
        return False
    sentences = [each for each in _SENTENCE_END.split(plain) if words_in(each)]
    return bool(sentences) and not any(map(_states_something, sentences))


def _states_something(sentence: str) -> bool:
    """Return whether a sentence, or a clause of it, is a statement about the world."""
    plain = sentence.strip()
    if _GREETINGS.fullmatch(plain):
        return False
    if plain.endswith(_QUESTION_ENDS):
        return _question_states(plain)
    return any(
        _clause_states(clause, is_certain=not place)
        for part in _BUT.split(plain)
        for place, clause in enumerate(_MAYBE_NEXT.split(part))
        if words_in(clause)
    )


def _question_states(question: str) -> bool:
    """Return whether a question contains a statement: "It was 1889, right?", "Built – go on?"."""
    if tag := _TAG.search(question):
        return not _ASKS.match(question) and _clause_states(question[: tag.start()])
    if _ASKS.match(question):
        return False
    *before, _ = _MAYBE_NEXT.split(question)
    return any(_clause_states(clause, is_certain=False) for clause in before)


def _clause_states(clause: str, *, is_certain: bool = True) -> bool:
    """Return whether a clause states something.

    If it is not certain that the clause is independent, the clause must also have enough words, or
    a number or a name.
    """
    plain = clause[apology.end() :] if (apology := _APOLOGY.match(clause)) else clause
    words = words_in(plain)
    if not words or _GREETINGS.fullmatch(plain):
        return False
    has_number = any(map(str.isdigit, plain))
    if refusal := _refusal_in(plain):
        return _lead_states(plain[: refusal.start()])
    if _OF_DIALOGUE.match(plain):
        return has_number
    if is_certain or has_number:
        return True
    is_name = any(word[0].isupper() for word in plain.split()[1:])
    introduces = bool(_INTRODUCES.match(plain))
    return (len(words) >= _LEAST_WORDS or is_name) and not introduces


def _refusal_in(clause: str) -> re.Match[str] | None:
    """Return the match of a refusal in a clause, unless it is quoted or its "I" is a numeral."""
    refusal = _REFUSALS.search(clause)
    if refusal is None:
        return None
    lead = clause[: refusal.start()]
    is_numeral = refusal[0].startswith("I ") and _NAMED_FIRST.search(lead)
    return None if is_numeral or _QUOTES.search(lead) else refusal


def _lead_states(lead: str) -> bool:
    """Return whether the words before a refusal, in the same clause, state something."""
    if not _JOINED.search(lead) or len(words_in(lead)) < _LEAST_WORDS:
        return False
    return any(map(str.isdigit, lead)) or not _INTRODUCES.match(lead)
