"""Statements are told from refusals, greetings and questions back, in several languages."""

import pytest

from conflictscore.answering.declining import asserts_nothing

# A number, a name or a fact stands beside a question, a refusal, an apology or a greeting.
STATEMENTS = [
    # before or after a question
    "The tower was built in 1889. Shall I go on?",
    "Which pool do you mean? The pool of Kell was closed in spring.",
    "Der Hafen liegt im Norden. Möchten Sie mehr wissen?",
    "Le pont mesure 240 mètres. Voulez-vous plus de détails ?",
    "この塔は石でできています。続けますか\uff1f",
    "The tower was built in 1889, right?",
    "Die Brücke ist aus Holz, oder?",
    "The tower was built by Anna Reeve – shall I go on?",
    # words that address somebody in one language only
    "I am not sure who designed it, but the US has 50 states.",
    "I don't know its head, but the EU has its seat in Brussels.",
    "Je ne sais pas qui l'a bâtie, mais la tour du port est vieille.",
    "Ich weiß nicht, wer die Stadt gründete, aber sie liegt am Rhein.",
    "Nie wiem, kto to zbudował, ale zamek we Wrocławiu jest stary.",
    "I don't know who built it, but I think it was Anna Reeve.",
    "I cannot say when, but you can swim there in winter.",
    "I don't know. Please note that the lock opens at noon.",
    # documents and springs of which something is said
    "Die Quellen der Donau liegen nicht in Wien.",
    "De bronnen van de Rijn liggen niet in Nederland.",
    "Källorna till Donau ligger inte i Wien.",
    "Las fuentes del Nilo no contienen sal.",
    "Les sources du Danube ne donnent pas assez d'eau.",
    "Le fonti del Tevere non sono in Umbria.",
    "Источники Дуная не содержат соли.",
    "Źródła Wisły nie zawierają soli.",
    "Article 5 of the treaty does not mention slavery.",
    "The sources of the Danube do not contain salt.",
    "There is no mention of slavery in the constitution.",
    "알 수 없는 이유로 탑이 무너졌다.",
    "他对此事表示抱歉。",
    # scripts without spaces
    "抱歉\uff0c我不知道建筑师。但该塔于1931年被烧毁。",
    "我不知道建筑师\uff0c不过这座桥是木头做的。",
    "我不清楚\uff0c该塔由安娜设计。",
    "建築家はわかりませんが、塔は木でできています。",
    "申し訳ありません。塔は港の北にあります。",
    "건축가는 모르겠습니다. 탑은 항구의 북쪽에 있습니다.",
    "누가 지었는지 모르겠지만 탑은 나무로 만들어졌습니다.",
    # courtesies before a statement
    "Sure, Anna Reeve won.",
    "Thanks to Thomas Edison.",
    "Hello Dolly opened first.",
    "Danke, Ida Holm gewann.",
    "Merci, Ida Holm gagna.",
    "Sorry, it was built of stone.",
    "I'm sorry, Kell is the capital.",
    "Lo siento, fue Ana Ruiz.",
    "Desculpe, foi Ana Reis.",
    "Unfortunately, the lamp burned down.",
    "Certainly.",
    # before a refusal, or after a short word
    "The tower was built by Anna Reeve and I don't know when.",
    "The tower burned in 1931, I don't know why.",
    "I don't know who built it, but it collapsed.",
    "I don't know. Anna Reeve.",
    "I don't know, probably Anna Reeve.",
    "I cannot say who drew it because the tower burned in 1931.",
    "I can't recommend this product because it is toxic.",
    "I cannot help with that, because it is illegal.",
    "Ich kann das nicht empfehlen, weil es giftig ist.",
    "Elizabeth I could not provide an heir.",
    "The keeper wrote: “I do not know the way.”",
    "Dazu kann ich sagen, dass der Turm alt ist.",
    "Jag vet inte vem, men tornet brann ner.",
    "Não sei quem, mas a torre caiu.",
    "Non so chi, ma la torre è caduta.",
    "Who built it? " + "a" * 1980 + "? The tower is of stone.",
]
NOTHING = [
    "I don't know how many men died in the fire.",
    "I'm sorry, but I can't help with that. Is there anything else I can help you with?",
    "As for who built the tower, I do not know.",
    "Based on the provided documents, I cannot determine the year.",
    "According to the context, I'm not sure when it was built.",
    "I don't know what happened in 1931.",
    "The sources do not say who won.",
    "The provided context does not contain information about the lock.",
    "I cannot answer that. You could try to ask the museum.",
    "I can't tell. If you share more details, I can try again.",
    "I am not able to say. Please rephrase the question.",
    "Unfortunately I don't have any information about that.",
    "I don't know the architect, and the year.",
    "I cannot give medical advice because I am an AI.",
    "**I don't know.**",
    "Hi there!",
    "Hello! How can I help you today?",
    "Sure, happy to help!",
    "Thank you very much for your question.",
    "Thank you. I don't know.",
    "Do you mean the tower: the old one in Kell?",
    "You mean the one in Kell?",
    "Es tut mir leid, das kann ich nicht beantworten.",
    "Leider weiß ich es nicht. Bitte fragen Sie das Museum.",
    "Die Dokumente enthalten dazu keine Angaben.",
    "Aus den Dokumenten geht nicht hervor, wer gewann.",
    "Die Quellen nennen das Jahr nicht.",
    "Ich weiß nicht, wann der Turm gebaut wurde.",
    "Guten Tag! Welchen Turm meinen Sie?",
    "Je suis désolé, je ne sais pas quand elle a été bâtie.",
    "Je n'ai pas d'informations à ce sujet.",
    "Bonjour à tous !",
    "Les documents ne donnent pas d'information.",
    "Lo siento, no tengo información sobre eso.",
    "Lo siento, pero no puedo responder.",
    "Las fuentes no lo dicen.",
    "Mi dispiace, non lo so.",
    "I documenti non lo indicano.",
    "Desculpe, mas não sei quem foi.",
    "Os documentos não mencionam o ano.",
    "Helaas weet ik het niet. Welke toren bedoelt u?",
    "De documenten vermelden het jaar niet.",
    "Källorna nämner inte året.",
    "Beklager, jeg vet ikke hvem det var.",
    "Desværre, det ved jeg ikke.",
    "Nie wiem, kto zbudował tę wieżę.",
    "Niestety nie mam informacji na ten temat.",
    "К сожалению, я не знаю. Какую башню вы имеете в виду?",
    "У меня нет информации об этом.",
    "抱歉\uff0c我不知道。",
    "很抱歉\uff0c根据提供的文档\uff0c我无法回答这个问题。",
    "文档中没有提到建筑师。",
    "资料中没有相关信息。",
    "None of the documents mention the year.",
    "Tyvärr har jag ingen information om det.",
    "如果您提供更多信息\uff0c我可以帮您。",
    "您是指哪座塔\uff1f",
    "申し訳ありませんが、その質問にはお答えできません。",
    "わかりません。もう少し詳しく教えてください。",
    "どの塔のことですか\uff1f",
    "죄송합니다. 잘 모르겠습니다.",
    "어느 탑을 말씀하시나요?",
    "عذرا، لا أعرف.",
]


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_beside_words_of_dialogue_asserts_something(text: str) -> None:
    assert not asserts_nothing(text)


@pytest.mark.parametrize("text", NOTHING)
def test_refusals_greetings_and_questions_back_assert_nothing(text: str) -> None:
    assert asserts_nothing(text)


@pytest.mark.parametrize("text", ["", "  ", "…", "**"])
def test_a_text_without_words_is_no_refusal(text: str) -> None:
    assert not asserts_nothing(text)
