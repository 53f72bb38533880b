"""Units: names to base units and exact factors. Unknown words are units of their own ("apples")."""

import re
from fractions import Fraction

_F = Fraction
_TABLE: dict[str, tuple[str, int, Fraction]] = {}  # alias -> (base unit, power, factor)


def _add(base: str, power: int, factor: Fraction | int | str, aliases: str) -> None:
    for alias in aliases.split():
        _TABLE[alias] = (base, power, _F(factor))


_add("m", 1, 1, "m meter metre")
_add("m", 1, "1/100", "cm centimeter centimetre")
_add("m", 1, "1/1000", "mm millimeter millimetre")
_add("m", 1, "1/1000000", "micron micrometer")
_add("m", 1, "1/1000000000", "nm nanometer nanometre")
_add("m", 1, 1000, "km kilometer kilometre")
_add("m", 1, "0.0254", "inch inches")
_add("m", 1, "0.3048", "ft foot feet")
_add("m", 1, "0.9144", "yd yard")
_add("m", 1, "1609.344", "mile mi")
_add("m", 3, "1/1000", "L l liter litre")
_add("m", 3, "1/1000000", "mL ml milliliter millilitre cc")
_add("m", 2, 10000, "hectare ha")
_add("g", 1, 1, "g gram gm")
_add("g", 1, 1000, "kg kilogram kilo")
_add("g", 1, "1/1000", "mg milligram")
_add("g", 1, 1_000_000, "tonne")
_add("g", 1, "453.59237", "lb lbs")
_add("g", 1, "28.349523125", "oz ounce")
_add("s", 1, 1, "s sec second")
_add("s", 1, "1/1000", "ms millisecond")
_add("s", 1, 60, "min minute")
_add("s", 1, 3600, "h hr hour")
_add("s", 1, 86400, "day")
_add("s", 1, 7 * 86400, "week")
_add("month", 1, 1, "month")
_add("month", 1, 12, "year yr")
_add("USD", 1, 1, "\ue002 $ dollar usd buck")
_add("USD", 1, "1/100", "cent ¢")
_add("EUR", 1, 1, "€ euro eur")
_add("GBP", 1, 1, "£ gbp")
_add("JPY", 1, 1, "¥ yen")
_add("INR", 1, 1, "rs rupee inr ₹")
_add("CNY", 1, 1, "yuan rmb cny")
_add("%", 1, 1, "% percent pct percentage")
_add("°", 1, 1, "° degree deg")
_add("rad", 1, 1, "rad radian")
_add("degC", 1, 1, "°C celsius")
_add("degF", 1, 1, "°F fahrenheit")
_add("K", 1, 1, "K kelvin")
_add("N", 1, 1, "N newton")
_add("J", 1, 1, "J joule")
_add("J", 1, 1000, "kJ kilojoule")
_add("W", 1, 1, "W watt")
_add("W", 1, 1000, "kW kilowatt")
_add("V", 1, 1, "V volt")
_add("A", 1, 1, "A amp ampere")
_add("Hz", 1, 1, "Hz hz hertz")
_add("Pa", 1, 1, "Pa pascal")
_add("ohm", 1, 1, "ohm")
_add("mol", 1, 1, "mol mole")
_add("eV", 1, 1, "eV")
_add("unit", 1, 1, "unit")

_COMPOUND = {"mph": "mile/hour", "kph": "km/hour", "kmh": "km/hour", "kmph": "km/hour", "fps": "ft/s"}
_IGNORED = frozenset(
    [
        "of",
        "the",
        "a",
        "an",
        "in",
        "total",
        "altogether",
        "each",
        "more",
        "left",
        "about",
        "approximately",
        "all",
        "away",
        "only",
        "per-se",
        "minimum",
        "maximum",
    ]
)
_SINGLE = frozenset("msghLlNJWVAK")  # letters that are units after a number and a space, or inside \text{}
_WORDS = re.compile(r"[\w\s.'/^*{}$()%°€£¥₹¢\ue002+-]+")

Unit = tuple[frozenset[tuple[str, int]], Fraction]


def is_known(word: str) -> bool:
    """Whether `word` alone names a unit of the table (a lone letter only if it is a usual unit symbol)."""
    if len(word) == 1 and word.isalpha():
        return word in _SINGLE
    return _look_up(word) is not None or word.lower() in _COMPOUND


def _look_up(word: str) -> tuple[str, int, Fraction] | None:
    word = word.rstrip(".")
    for form in (word, word.lower()):
        if form in _TABLE and (len(form) > 1 or form == word):
            return _TABLE[form]
        for ending in ("s", "es"):
            if form.endswith(ending) and len(form) > len(ending) + 1 and form[: -len(ending)] in _TABLE:
                return _TABLE[form[: -len(ending)]]
    return None


def read_unit(text: str) -> Unit | None:
    """(bases, factor) of words such as "square feet", "m/s^2", "miles per hour", "red apples"; None if not words."""
    if not _WORDS.fullmatch(text) or len(text) > 200:
        return None
    text = re.sub(r"\^\s*\{\s*(-?\d)\s*\}", r"^\1", text).replace("{", " ").replace("}", " ")
    text = re.sub(r"\s*\^\s*(-?\d)", r"^\1", text)
    text = re.sub(r"\(([^()]*)\)", r" \1 ", text)
    text = re.sub(r"\b(?:square|sq)\b\.?\s*([A-Za-z]+)", r"\1^2", text, flags=re.IGNORECASE)
    text = re.sub(r"\b(?:cubic|cu)\b\.?\s*([A-Za-z]+)", r"\1^3", text, flags=re.IGNORECASE)
    text = re.sub(r"\s+squared\b", "^2", text)
    text = re.sub(r"\s+cubed\b", "^3", text)
    for name, expansion in _COMPOUND.items():
        text = re.sub(rf"\b{name}\b", expansion, text, flags=re.IGNORECASE)
    text = re.sub(r"\b(?:per|an?(?=\s+(?:hour|day|week|minute|second|month|year)))\b", "/", text)
    bases: dict[str, int] = {}
    factor = _F(1)
    sign = 1
    for token in re.findall(r"/|[^\s/*]+", text):
        if token == "/":
            sign = -1
            continue
        word, _, raised = token.partition("^")
        if raised and not re.fullmatch(r"-?\d", raised):
            return None
        word = word.strip(".")
        if not word or word.lower() in _IGNORED:
            continue
        if re.search(r"\d", word):
            return None
        power = sign * int(raised or 1)
        base, inner, scale = _look_up(word) or (_singular(word.lower()), 1, _F(1))
        bases[base] = bases.get(base, 0) + inner * power
        factor *= scale**power
        sign = 1
    return frozenset((base, power) for base, power in bases.items() if power), factor


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


_KNOWN_BASES = frozenset(base for base, _, _ in _TABLE.values())


def comparable(a: frozenset, b: frozenset) -> bool:
    """Same dimensions; or, for words that are no units, one description contained in the other."""
    if a == b:
        return True
    if any(base in _KNOWN_BASES for base, _ in a ^ b):
        return False
    return a <= b or b <= a
