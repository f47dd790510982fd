"""Bytes of any kind become text with exact lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.codeintel.parse.decode import decode
from appliance.codeintel.parse.text import SourceText

RUSSIAN = "# \u043f\u0440\u043e\u0432\u0435\u0440\u043a\u0430 \u0441\u0432\u044f\u0437\u0438"

JAPANESE = "ファイルがない場合はエラーになります"
KOREAN = "파일이 없으면 오류를 돌려준다"
CHINESE = "如果文件不存在就返回错误\u3002不要再用这个函数"
TAIWANESE = "如果檔案不存在就回傳錯誤\u3002不要再用這個函數"


@pytest.mark.parametrize(
    ("content", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        ("ä\n".encode(), "ä\n", "utf-8"),
        (b"\xef\xbb\xbfx", "x", "utf-8"),
        ("\ufeffäx\n".encode("utf-16-le"), "äx\n", "utf-16"),
        ("\ufeffäx\n".encode("utf-16-be"), "äx\n", "utf-16"),
        ("Größe".encode("latin-1"), "Größe", "latin-1"),
        ("größer als ä".encode() + b"\xff", "größer als äÿ", "damaged utf-8"),
        (b"\xef\xbb\xbfx\xff", "xÿ", "damaged utf-8"),
        ("\ufeffx".encode("utf-16-le") + b"\0", "x\ufffd", "damaged utf-16"),
        (RUSSIAN.encode("cp1251"), RUSSIAN, "cp1251"),
        (RUSSIAN.encode("koi8-r"), RUSSIAN, "koi8-r"),
        ("# 検査".encode("shift-jis"), "# 検査", "shift-jis"),
        ("x = 'テスト'".encode("shift-jis"), "x = 'テスト'", "shift-jis"),
        (f"# {JAPANESE}".encode("euc-jp"), f"# {JAPANESE}", "euc-jp"),
        (f"# {KOREAN}".encode("euc-kr"), f"# {KOREAN}", "euc-kr"),
        (f"# {CHINESE}".encode("gbk"), f"# {CHINESE}", "gbk"),
        (f"# {TAIWANESE}".encode("big5"), f"# {TAIWANESE}", "big5"),
        ("# 检查连接".encode("gbk"), "# 检查连接".encode("gbk").decode("latin-1"), "latin-1"),  # too little to tell
        (f"# {CHINESE}".encode("gbk") + b"\xff", f"# {CHINESE}".encode("gbk").decode("latin-1") + "ÿ", "latin-1"),
        ("ÀÁÂÃÄÅÆÇÈÉÊËÌÍàáâãäåæçèé".encode("latin-1"), "ÀÁÂÃÄÅÆÇÈÉÊËÌÍàáâãäåæçèé", "latin-1"),
        (b"it\x92s, don\x92t, won\x92t \x93so\x94", "it\x92s, don\x92t, won\x92t \x93so\x94", "latin-1"),
        (b"a\0b", "a\0b", "utf-8"),
    ],
)
def test_the_encoding_is_found_and_recorded(content: bytes, text: str, encoding: str) -> None:
    decoded = decode(content)
    assert (decoded.text, decoded.encoding) == (text, encoding)


def test_lines_end_with_line_feeds_alone() -> None:
    assert decode(b"a\r\nb\x0cc\x85d\n\ne").lines() == ["a", "b\x0cc\x85d", "", "e"]
    assert decode("a\u2028b\n".encode()).lines() == ["a\u2028b"]


@given(st.binary())
def test_any_bytes_decode_and_keep_their_line_ends(content: bytes) -> None:
    decoded = decode(content)
    decoded.text.encode()
    if not decoded.encoding.endswith("utf-16"):
        assert decoded.text.count("\n") == content.count(b"\n")


@pytest.mark.parametrize("text", ["ä\n\n", "a\n\n", "ä\n", "a\n", "ä", "a", "\n", "\n\nä"])
def test_lines_come_back_as_they_stand_with_and_without_ascii(text: str) -> None:
    source = SourceText(text)
    assert source.between(1, len(source.lines)) == text.removesuffix("\n")


@given(st.text(alphabet="aä\n\U0001f600 \r"), st.data())
def test_offsets_of_bytes_lead_to_the_same_text(text: str, data: st.DataObject) -> None:
    source = SourceText(text)
    first = data.draw(st.integers(0, len(text)))
    last = data.draw(st.integers(first, len(text)))
    start, end = len(text[:first].encode()), len(text[:last].encode())
    assert source.cut(start, end) == text[first:last]
    if source.lines:
        assert source.between(1, len(source.lines)) == text.removesuffix("\n")
