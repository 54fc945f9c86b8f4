"""What a server said is shown without what is secret."""

from conflictscore.errors import scrubbed


def test_scrubbing_finds_each_form_of_a_secret_and_keeps_the_rest() -> None:
    secret = 'k+/"&é'
    forms = ['k+/"&é', "k%2B%2F%22%26%C3%A9", "k%2b%2f%22%26%c3%a9", 'k+/\\"&\\u00e9']
    forms += ["k+/&quot;&amp;é", "aysvIibDqQ=="]
    assert scrubbed("; ".join(forms), secret) == "; ".join(["[secret]"] * len(forms))
    password = 'it\'s "a b"/\\'
    forms = ["it%27s%20%22a%20b%22%2F%5C", "it%27s+%22a+b%22%2F%5C", 'it\\\'s "a b"/\\\\']
    assert scrubbed("; ".join(forms), password) == "[secret]; [secret]; [secret]"
    assert scrubbed("nothing\n to  hide", secret, "") == "nothing to hide"
    assert len(scrubbed("x" * 1000, secret)) == 300
