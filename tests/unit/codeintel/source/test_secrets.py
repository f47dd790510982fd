"""What is taken for a secret, what is not, and what a mask leaves of a file."""

import time

import pytest

from appliance.codeintel.source.secrets import Secret, is_private_key, is_secret_file, masked
from tests.support import planted
from tests.support.planted import letters, pem


def _kinds(text: str) -> list[tuple[int, str]]:
    return [(secret.line, secret.kind) for secret in masked(text.encode())[1]]


@pytest.mark.parametrize("secret", planted.SECRETS[:9], ids=range(9))
def test_a_planted_secret_is_masked_character_by_character(secret: str) -> None:
    shown, _ = masked(planted.SETTINGS.encode() + planted.ENV.encode().replace(b"API_KEY", b"API_KEY_2"))
    assert secret not in shown.decode()
    assert [len(line) for line in shown.decode().split("\n")][: planted.SETTINGS.count("\n")] == [
        len(line) for line in planted.SETTINGS.split("\n")
    ][:-1]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (planted.AWS_KEY, "aws-key"),
        ("github_pat_" + letters(82), "github-token"),
        ("glpat-" + letters(20), "gitlab-token"),
        ("sk_live_" + letters(24), "stripe-key"),
        ("AIza" + letters(35), "google-key"),
        ("sk-proj-" + letters(48), "model-api-key"),
        ("npm_" + letters(36), "package-token"),
        ("SG." + letters(22) + "." + letters(43), "mail-key"),
        ("AccountKey=" + letters(86) + "==;", "azure-key"),
        ("1234567890:AA" + letters(33), "telegram-token"),
        (planted.JWT, "jwt"),
        (f'api_key = "{letters(24)}"', "password-or-token"),
        (f"'client_secret': '{letters(30)}',", "password-or-token"),
        (f'"password": "p{letters(9)}!"', "password-or-token"),
        (f"export GITLAB_TOKEN={letters(26)}", "password-or-token"),
        (f"redis://:{letters(12)}@cache:6379/0", "password-in-address"),
        (f"Authorization: Bearer {letters(32)}", "authorization"),
        (f"//registry.internal/:_authToken={letters(36)}", "package-token"),
        (f"https://discord.com/api/webhooks/{'7' * 18}/{letters(68)}", "webhook"),
        ("skellig_" + letters(43), "appliance-key"),
        (f"accessToken: `{letters(30)}`,", "password-or-token"),
        (f"https://site/?user=a&api_key={letters(32)}&page=2", "password-or-token"),
        (f"RUN deploy --registry-password={letters(16)} --fast", "password-or-token"),
        (f"deploy --token {letters(24)}", "password-or-token"),
        (f"<db:password>{letters(16)}</db:password>", "password-or-token"),
        (f'source.setPassword("{letters(16)}");', "password-or-token"),
        (f"client.with_auth_token('{letters(24)}')", "password-or-token"),
        (f"ENV DB_PASSWORD={letters(22)}", "password-or-token"),
        (f"ENV API_TOKEN {letters(30)}", "password-or-token"),
        (f"curl -u admin:{letters(18)} https://site/", "password-or-token"),
        (f"docker login -u app -p {letters(18)} registry.site", "password-or-token"),
        (f"mysqldump -p{letters(18)} shop", "password-or-token"),
        (f'headers["Authorization"] = "Basic {letters(24)}"', "authorization"),
        (f'request.setHeader("Authorization", "Bearer {letters(32)}")', "authorization"),
        (f"Server=db;User Id=app;Password={letters(11)};", "connection-string"),
        (f"Password={letters(11)};Server=db", "connection-string"),
        (f'variable "db_password" {{ default = "{letters(16)}" }}', "password-or-token"),
        (pem(), "private-key"),
        (pem(kind="OPENSSH PRIVATE KEY"), "private-key"),
        ('key = "' + pem().replace("\n", "\\n") + '"', "private-key"),
        (pem().rpartition("\n")[0], "private-key"),
    ],
)
def test_each_kind_of_secret_is_found_in_its_line(text: str, kind: str) -> None:
    assert _kinds(f"first\n{text}\nlast\n") == [(2, kind)]


@pytest.mark.parametrize(
    "text",
    [
        f'token = "{planted.UUID}"',
        f'COMMIT = "{planted.COMMIT}"',
        f'secret_sha1 = "{planted.COMMIT}"',
        f"index {planted.COMMIT[:7]}..{planted.COMMIT[7:14]}",
        'password = "password"',
        'password = "your-password-here"',
        "password = '${DB_PASSWORD}'",
        'password = "<password>"',
        'password = "********"',
        'token = "access_token"',
        'secret_key = "SECRET_KEY_NAME"',
        'token = "csrf-token"',
        "token = self.tokens[index]",
        "password = get_password(user, realm2)",
        "secret = hashlib.sha256(content).hexdigest()",
        "postgres://user:password@localhost/db",
        "https://${USER}:${PASSWORD}@host/",
        'if line.startswith("-----BEGIN RSA PRIVATE KEY-----"):',
        "AKIA" + "EXAMPLE" * 3,
        "a sk-learn-contrib package, and xoxb",
        "def token(self, name: str, password: str) -> None:",
        "token: `Bearer ${token}`",
        "https://site/?token=$TOKEN&password={password}&api_key=<your-key>",
        "deploy --password-file /run/secrets/db1 --token-type bearer --max-tokens 100000000",
        "<password>changeme-please1</password><token>",
        "parser.set_token(self.next_token1)",
        "docker run -u 1000:1000 -p 127.0.0.1:8080:80 image",
        "cp -p file1234567 there",
        "ENV TOKEN_PATH /var/run/secrets/token2",
        'headers["Authorization"] = "Bearer " + token',
        "TOKEN_TYPE = 'application/x-www-form-urlencoded'",
        'variable "db_password" {\n  type = string\n  sensitive = true\n}\nvariable "region" {\n  default = "eu-west-1a"\n}',
        'variable "secret_path" {\n  default = "prod/database/main"\n}',
        "kind: ConfigMap\ndata:\n  color: YWRtaW4tdXNlcg==\n",
        "kind: SealedSecret\nspec:\n  data:\n    user: YWRtaW4tdXNlcg==\n",
        "kind: Secret\nmetadata:\n  name: database\ndata:\n  one: {{ .Values.one }}\n  two: <base64>\n---\na: YWJj",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert masked(text.encode()) == (text.encode(), ())


def test_the_values_of_a_manifest_of_secrets_are_masked_whatever_their_names() -> None:
    """They are base64, which looks like nothing; what stands around them, and in the manifest behind, is to be read."""
    head = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: abcdefgh\n"
    coded = "data:\n  user: dXNlcg==\n  'a.b': \"aHVudGVyMi05ZjhB\"\n\n  block: |\n    LS0tLS1CRUdJTiBD\n    LS0t\n"
    plain = "stringData:\n  user: admin\n  from: ${USER}\n"
    rest = "type: Opaque\n---\nkind: ConfigMap\ndata:\n  user: dXNlcg==\n"
    for end in ("\n", "\r\n"):
        text = (head + coded + plain + rest).replace("\n", end).encode()
        shown, secrets = masked(text)
        assert [(secret.line, secret.kind) for secret in secrets] == [
            (line, "kubernetes-secret") for line in (6, 7, 10, 11, 13)
        ]
        lines = dict(enumerate(shown.decode().split(end), start=1))
        assert lines[6] == "  user: ********"
        assert lines[7] == "  'a.b': \"****************\""
        assert lines[13] == "  user: *****"
        assert shown.endswith(rest.replace("\n", end).encode())
        assert len(shown) == len(text)


def test_lines_and_columns_stay_what_they_are() -> None:
    text = f'é = "{planted.AWS_KEY}"; after\r\n' + planted.pem() + f"\nlast {planted.GITHUB} end\n"
    shown, secrets = masked(text.encode())
    was, now = text.split("\n"), shown.decode().split("\n")
    assert [len(line) for line in was] == [len(line) for line in now]
    assert now[0].endswith('"; after\r')
    assert now[0].index("; after") == was[0].index("; after")
    assert now[1] == was[1]
    assert set(now[2]) == {"*"}
    assert now[-2].endswith(" end")
    assert secrets == (Secret(1, "aws-key"), Secret(2, "private-key"), Secret(len(was) - 1, "github-token"))


def test_a_file_of_two_bytes_a_character_is_masked_too() -> None:
    text = f"one\nkey = {planted.AWS_KEY}\nafter é\n"
    for coding, mark in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
        shown, secrets = masked(mark + text.encode(coding))
        assert shown.startswith(mark)
        assert len(shown) == len(mark + text.encode(coding))
        assert planted.AWS_KEY not in shown.decode("utf-16")
        assert shown.decode("utf-16").endswith("after é\n")
        assert secrets == (Secret(2, "aws-key"),)


@pytest.mark.parametrize("tail", [b"\x00", b"\x00\xd8", b"\x00\xdc\x41"])
def test_a_file_of_two_bytes_a_character_that_is_damaged_is_read_as_ever(tail: bytes) -> None:
    """One such file must not keep a repository from being indexed."""
    content = b"\xff\xfe" + "key = x\n".encode("utf-16-le") + tail
    assert masked(content) == (content, ())
    shown, secrets = masked(b"\xff\xfe" + f"key = {planted.AWS_KEY}\n".encode("utf-16-le") + tail)
    assert planted.AWS_KEY not in shown.decode("utf-16", "replace")
    assert len(secrets) == 1


def test_a_password_of_other_letters_is_covered_letter_by_letter() -> None:
    shown, _ = masked('password = "pässwörd7!ß"; x'.encode())
    assert shown.decode() == 'password = "***********"; x'
    shown, _ = masked('password = "pässwörd7!ß"; x'.encode("latin-1"))
    assert shown.decode("latin-1") == 'password = "***********"; x'


@pytest.mark.parametrize(
    "path",
    [
        ".env", "a/.env.production", "prod.env", "home/.ssh/id_rsa", "id_ed25519", "x/.netrc", ".git-credentials",
        "store.jks", "cert.p12", ".aws/credentials", "terraform.tfstate",
    ],
)  # fmt: skip
def test_files_of_secrets_are_known_by_their_names(path: str) -> None:
    assert is_secret_file(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        ".env.template",
        "environment.py",
        "id_rsa.pub",
        "cert.pem",
        "src/env.go",
        "docs/credentials",
        "a.envrc",
    ],
)
def test_files_that_are_meant_to_be_read_are_not(path: str) -> None:
    assert not is_secret_file(path)


def test_a_private_key_is_known_by_what_it_begins_with() -> None:
    assert is_private_key(("\n" + pem()).encode())
    assert not is_private_key(pem(kind="CERTIFICATE").encode())
    assert not is_private_key(b"# " + pem().encode())


def test_a_hostile_file_takes_no_longer_than_its_size_allows() -> None:
    start = time.process_time()
    for piece in (
        "-----BEGIN PRIVATE KEY-----\n",
        "password=",
        "a://:",
        "eyJ" * 20 + ".",
        "AKIA",
        "xoxb-" * 3,
        "token: ",
        "kind: Secret\n",
        "kind: Secret\ndata:\n  a: YWJj\n---\n",
    ):
        masked((piece * (400_000 // len(piece))).encode())
    masked(b"password='q7w8e9r0t1y2';" * 80_000)  # all on one line
    assert time.process_time() - start < 10
