"""Labels that say in plain words that there is no answer: refused, don't know, not applicable, in several languages."""

import re
import unicodedata
from collections.abc import Collection

# Words of the large survey programmes, without accents and in small letters.
ANSWERS_MISSING = """
can't recall|cannot recall|can't remember|valid missing
refused|refusal|refuse|refuses|refused to answer|refuses to answer|prefer not to say|prefer not to answer
i prefer not to answer|prefer not to respond|rather not say|would rather not say|declined|declined to answer
declines to answer|no answer|no response|no reply|not answered|unanswered|did not answer|nonresponse|non-response
non response|item nonresponse|item non-response|unit nonresponse|web nonresponse|don't know|dont know|do not know
doesn't know|does not know|didn't know|i don't know|i do not know|can't choose|cannot choose|can't say|cannot say
can not say|not sure / don't know|not applicable|inapplicable|inap|inap.|legitimate skip
valid skip|skip|skipped|missing|missing value|missing data|data missing|system missing|missing system|no data
no information|unknown|not known|not asked|not asked in survey|question not asked|not administered|not ascertained
not available|not recorded|not reported|not stated|not specified|not determined|not done|not measured|not assessed
cannot be assessed|unable to assess|not evaluable|not collected|not coded|not codeable|uncodeable|uncodable
no post interview|no interview|incomplete interview|interview breakoff|interview break-off|breakoff|break-off
stage x|grade x|undetermined|stage unknown|grade unknown|refused to state|refuse to state|not in universe|blank
logical skip|see codebook|not imputable|skipped on web|not available in this release
keine angabe|keine angaben|keine antwort|weiss nicht|weiss ich nicht|ich weiss nicht|verweigert|antwort verweigert
verweigerung|nicht erhoben|nicht beantwortet|nicht gefragt|fehlender wert|fehlend
unbekannt|nicht bestimmbar|nicht vercodbar|datenfehler
ne sait pas|ne sais pas|je ne sais pas|nsp|sans reponse|pas de reponse|non reponse|refus|refuse de repondre
ne veut pas repondre|ne se prononce pas|non concerne|sans objet|non applicable|inconnu|non precise|non renseigne
donnee manquante|manquant
no sabe|no se|no contesta|no responde|ns/nc|ns/nr|ns / nc|n.s.|n.c.|n.r.|n.s./n.c.|rehusa|rehusa contestar
rehuso contestar|se niega a contestar|se niega a responder|no aplica|no aplicable|no procede|sin respuesta|sin datos
sin dato|desconocido|no especificado|no preguntada|valor perdido
se niega|prefiere no contestar|prefiere no responder|prefiero no contestar|prefiero no responder
non so|non sa|non risponde|nessuna risposta|rifiuta|rifiuta di rispondere|non applicabile|non pertinente|mancante
preferisco non rispondere|preferisce non rispondere
nao sabe|nao sei|nao responde|nao respondeu|sem resposta|recusa|recusa-se a responder|recusou|nao se aplica
nao aplicavel|ignorado|desconhecido|sem informacao
weet niet|weet het niet|weet ik niet|geen antwoord|weigert|geweigerd|weigering|wil niet zeggen|wil niet antwoorden
niet van toepassing|n.v.t.|nvt|geen opgave|onbekend|niet gevraagd
ved ikke|vet ikke|vet ej|vet inte|uoplyst|ikke besvart|ikke besvaret|inget svar|ej svar|uppgift saknas|ubesvart
vil ikke svare|onsker ikke a svare|nekter|vagrar|ej tillampligt|ikke spurt|ukendt|okand
ei osaa sanoa|en osaa sanoa|eos|ei tietoa|ei vastausta|kieltaytyi|ei koske
nie wiem|trudno powiedziec|odmowa|odmowa odpowiedzi|brak odpowiedzi|nie dotyczy|brak danych
nevi|nevim|bez odpovedi|odmitl odpovedet|odmitl|neodpovedel|neodpovedela|netyka se|neviem|bez odpovede
nem tudja|nem valaszol|nincs valasz|nem vonatkozik|valaszmegtagadas
nu stiu|nu raspund|nu raspunde|refuz|nu se aplica|ne znam|ne zna|bez odgovora|ne odgovara|odbija
не знаю|затрудняюсь ответить|нет ответа|отказ|отказ от ответа|отказался|не применимо|неизвестно|не знае|не отговаря
важко сказати|важко відповісти|немає відповіді
δεν γνωριζω|δεν ξερω|δεν απαντω|δεν απαντα|δγ/δα|αρνηση
cevap vermek istemiyor|bilmiyorum|bilmiyor|cevap yok|fikri yok|cevap vermedi|reddetti|uygulanamaz
無回答|わからない|分からない|非該当|答えたくない|回答拒否|不明|不知道|拒绝回答|拒绝|拒答|不适用|无法回答|缺失|無法回答|不適用
모름|무응답|모르겠다|모르겠음|비해당|응답거부|해당없음
لا اعرف|رفض الاجابة|لا ينطبق|بدون اجابة
"""
# Abbreviations mean it where a file gives them to a code, as they may be grades elsewhere.
ABBREVIATIONS = "dk|d.k.|na|n/a|n.a.|n.a|nap|iap|rf|dk/ref|dk/nr|k.a.|tnz"
# Words that may be the lowest of a scale mean it with a code below 0 alone.
BELOW_ZERO = "trifft nicht zu|nicht zutreffend|does not apply|not relevant|ikke relevant|ikke aktuelt|error|data error"


def _phrases(block: str) -> frozenset[str]:
    return frozenset(phrase.strip() for line in block.split("\n") for phrase in line.split("|") if phrase.strip())


PHRASES = _phrases(ANSWERS_MISSING)
SHORT = _phrases(ABBREVIATIONS)
IF_NEGATIVE = _phrases(BELOW_ZERO)
# A code before the words, such as "-9. ", "[-1] ", "(9) " or "99 = ".
CODE = re.compile(r"^[\[(]?\s*[-+]?\d+\s*[\])]?\s*[.:=)-]*\s*")
ASIDE = re.compile(r"\s*[\[(][^\])]*[\])]\s*$")  # As in "Refusal (spontaneous)".
ASIDE_BEFORE = re.compile(r"^\((?:vol|volunteered|spontaneous|spont)\.?\)\s*")  # As in "(VOL) Refused".
BETWEEN = re.compile(r"\s*(?:/|,|;|:|\bor\b|\band\b|\boder\b|\bund\b|\bou\b|\by\b|\bo\b|\bet\b)\s*")


def says_no_answer(label: str, *, of_code: bool = True, is_negative: bool = False) -> bool:
    """Return whether a label says in plain words that there is no answer.

    Args:
        label: Label.
        of_code: Whether a file gives the label to a code; abbreviations such as "DK" count then as well.
        is_negative: Whether this code is below 0, as most surveys have it for missing answers.

    Example:
        >>> says_no_answer("-9. Refused"), says_no_answer("Don't know / no answer"), says_no_answer("KEINE ANGABE")
        (True, True, True)
        >>> says_no_answer("No"), says_no_answer("DK"), says_no_answer("DK", of_code=False), says_no_answer("unknown")
        (False, True, False, True)
    """
    plain = _plain(label)
    if not plain:
        return False
    known = PHRASES
    if of_code:
        known |= SHORT
    if is_negative or re.match(r"[\[(]?\s*-\s*\d", plain):
        known |= IF_NEGATIVE
    for text in (plain, CODE.sub("", plain), ASIDE_BEFORE.sub("", plain)):
        inner = re.fullmatch(r"[\[(<]\s*([^\[\]()<>]+?)\s*[\])>]", text)
        for form in (text, ASIDE.sub("", text), inner[1] if inner else text):
            if _is_known(form, known):
                return True
    return False


def no_answers_among(texts: Collection[str]) -> set[str]:
    """Return those of different texts of a column that say in plain words that there is no answer.

    Signs such as "?" say so where all other texts are numbers.

    Example:
        >>> sorted(no_answers_among(["1", "2", "?", "refused"])), sorted(no_answers_among(["-", "+", "++"]))
        (['?', 'refused'], [])
    """
    found = {text for text in texts if says_no_answer(text, of_code=False)}
    signs = {text for text in texts if text.strip() in {"?", ".", "-", "--", "'--"}}
    others = set(texts) - found - signs
    if signs and others and all(map(_is_number, others)):
        return found | signs
    return found


def _plain(label: str) -> str:
    """Return a label in small letters, without accents and typographic apostrophes, with single spaces."""
    folded = unicodedata.normalize("NFKD", label.replace("ß", "ss").replace("\u2019", "'").replace("`", "'").casefold())
    bare = "".join(letter for letter in folded if not "\u0300" <= letter <= "\u036f")
    return " ".join(unicodedata.normalize("NFKC", bare).replace("ø", "o").replace("ł", "l").split()).strip(" .!*")


def _is_known(text: str, known: frozenset[str]) -> bool:
    text = text.strip(" .!*-")
    if text in known:
        return True
    parts = [part.strip(" .") for part in BETWEEN.split(text) if part.strip(" .")]
    return len(parts) > 1 and all(part in known for part in parts)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
