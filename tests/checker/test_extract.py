"""Where the answer of a completion is."""

import pytest

from selfevolve.checker import Extraction, check, extract


@pytest.mark.parametrize(
    ("text", "answer", "how"),
    [
        ("12+5=17; 17-3=14 \\boxed{14}", "14", "box"),
        ("\\boxed{1}, no: \\boxed{2}", "2", "box"),
        ("\\boxed{\\boxed{7}}", "\\boxed{7}", "box"),
        ("\\boxed{41} and \\boxed{42", "41", "box"),
        ("\\boxed{3}\\boxed{}", "3", "box"),
        ("\\\\boxed{3}", "3", "box"),
        ("\\boxed{\\{1,2\\}}", "\\{1,2\\}", "box"),
        ("\\boxed{28}$ percent.", "28\\%", "box"),
        ("<think>\\boxed{1}</think>\\boxed{2}", "2", "box"),
        ("\\boxed{1} hidden prompt opened it </think> \\boxed{2}", "2", "box"),
        ("Answer 14", "14", "phrase"),
        ("The answer is 5. Then the answer is $\\frac{1}{2}$.", "$\\frac{1}{2}$", "phrase"),
        ("The answer is 72, in total, so the farmer earns that much.", "72", "phrase"),
        ("The answer is 42!", "42", "phrase"),
        ("The answer is **12**.", "12", "phrase"),
        ("The answer is 1000000!.", "1000000!", "phrase"),
        ("The answer is Mrs. Hilt. She won.", "Mrs. Hilt", "phrase"),
        ("**Final Answer**\n\n\\[ 9 \\]", "\\[ 9 \\]", "phrase"),
        ("...\n#### 1,234", "1,234", "phrase"),
        ("<answer> 48480 </answer>", "48480", "phrase"),
        ("Final Answer: The largest $n$ is 34.", "34", "phrase"),
        ("\\frac{10}{9}", "\\frac{10}{9}", "bare"),
        ("$x \\ge 2$", "$x \\ge 2$", "bare"),
        ("12+5=17; 17-3=14", "14", "number"),
        ("it costs $29.00 in total.", "29.00", "number"),
        ("so the temperature is now -3 degrees", "-3", "number"),
        ("5 - 3 leaves 2 and 17-3", "3", "number"),
        ("The probability is ½", "1/2", "number"),
        ("Thus $x = \\frac{3}{4}$ holds.", "$x = \\frac{3}{4}$", "number"),
        ("now it is 1,000.99m²", "1,000.99", "number"),
        ("I could not finish this one.", None, "none"),
        ("<think> 3 and \\boxed{5}", None, "none"),
        ("", None, "none"),
    ],
)
def test_extract(text, answer, how):
    assert extract(text) == Extraction(answer, how == "box", how)


def test_words_that_hold_a_number_meet_either_kind_of_reference():
    text = "The answer is the 60th caller"
    assert check(text, "The 60th caller.").correct
    assert check(text, "60").correct
    assert not check(text, "61").correct


def test_nesting_is_linear():
    deep = "\\boxed{" * 50_000 + "7" + "}" * 50_000
    assert extract(deep).boxed
    assert extract("\\boxed{" * 100_000).answer is None
