"""Settings: defaults, file, environment, and errors that say what is allowed."""

import pytest

from cdpfetch import config, paths
from cdpfetch.errors import ConfigError


@pytest.fixture
def home(tmp_path):
    return paths.Home(str(tmp_path))


def write(home, text):
    with open(home.config, "w", encoding="utf-8") as file:
        file.write(text)


def test_the_defaults_are_the_documented_ones(home):
    found = config.load(home, {})
    assert found == config.Config()
    assert found.browser.headless_idle == 60
    assert found.fetch == (6, 15.0, 60.0, 5.0, 104857600, 300.0, (), False, ())
    assert found.challenge == ("headed", 10.0, 20.0)
    assert found.artifacts == (7, 1024, True, 100)


def test_every_key_has_a_rule_that_accepts_its_default():
    for section, rules in config.RULES.items():
        part = getattr(config.Config(), section.rpartition(".")[2])
        assert tuple(rules) == part._fields
        for key, rule in rules.items():
            value = config.default(f"{section}.{key}")
            if value is not None:
                assert rule.check(key, value, "x") == value


def test_the_file_is_read(home):
    write(
        home,
        "[browser]\nsandbox = 'require'\nextra_args = ['--lang=de']\nheadless_idle = 5\n"
        "[fetch]\ntabs = 2\n[fetch.challenge]\nescalation = 'never'\n"
        "[network]\nallow = ['127.0.0.1:80', '10.0.0.0/8']\n",
    )
    found = config.load(home, {})
    assert found.browser.sandbox == "require"
    assert found.browser.extra_args == ("--lang=de",)
    assert found.browser.headless_idle == 5.0
    assert isinstance(found.browser.headless_idle, float)
    assert found.fetch.tabs == 2
    assert found.challenge.escalation == "never"
    assert found.network.allow == ("127.0.0.1:80", "10.0.0.0/8")


def test_the_environment_wins(home):
    write(home, "[fetch]\ndeadline = 10\n[network]\nallow = ['a.example']\n")
    environ = {
        "CDPFETCH_FETCH_DEADLINE": "30",
        "CDPFETCH_FETCH_CHALLENGE_HEADED_WAIT": "3",
        "CDPFETCH_NETWORK_ALLOW": "b.example, c.example:8080",
        "CDPFETCH_CHROME": "/opt/chrome",
        "CDPFETCH_JINA_ENABLED": "true",
        "CDPFETCH_HOME": "/x",
        "CDPFETCH_REQUIRE_CHROME": "1",
    }
    found = config.load(home, environ)
    assert found.fetch.deadline == 30
    assert found.challenge.headed_wait == 3
    assert found.network.allow == ("b.example", "c.example:8080")
    assert found.browser.executable_path == "/opt/chrome"
    assert found.jina.enabled is True


def test_the_origin_is_known(home):
    write(home, "[fetch]\ntabs = 3\n")
    origins = {setting.key: setting.origin for setting in config.settings(home, {"CDPFETCH_CHROME": "/c"})}
    assert origins["fetch.tabs"] == "config.toml"
    assert origins["browser.executable_path"] == "CDPFETCH_CHROME"
    assert origins["fetch.deadline"] == "default"


def test_home_is_expanded_and_empty_is_unset(home, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ann")
    write(home, "[browser]\nprofile_dir = '~/p'\nproxy = ''\n")
    found = config.load(home, {})
    assert found.browser.profile_dir == "/home/ann/p"
    assert found.browser.proxy is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[fetch]\ndeadlin = 3\n", ("fetch.deadlin", "deadline")),
        ("[fetsh]\ndeadline = 3\n", ("fetsh", "browser, fetch")),
        ("tabs = 3\n", ("tabs", "sections")),
        ("fetch = 3\n", ("fetch", "table")),
        ("[fetch]\ndeadline = 'soon'\n", ("fetch.deadline", "'soon'", "a number from")),
        ("[fetch]\ndeadline = true\n", ("fetch.deadline", "True")),
        ("[fetch]\ndeadline = nan\n", ("fetch.deadline", "nan")),
        ("[fetch]\ntabs = 2.5\n", ("fetch.tabs", "2.5", "a whole number from 1 to 32")),
        ("[fetch]\ntabs = 0\n", ("fetch.tabs", "0")),
        ("[fetch.challenge]\nescalation = 'maybe'\n", ("fetch.challenge.escalation", "'maybe'", "headed, never")),
        ("[browser]\nextra_args = '--x'\n", ("browser.extra_args", "a list")),
        ("[browser]\nextra_args = ['x']\n", ("browser.extra_args", "'x'", "--")),
        ("[browser]\nexecutable_path = 'chrome'\n", ("browser.executable_path", "an absolute path")),
        ("[browser]\nproxy = 'host:80'\n", ("browser.proxy", "socks5://")),
        ("[network]\nallow = ['http://x/']\n", ("network.allow", "'http://x/'")),
        ("[network]\nallow = [3]\n", ("network.allow", "3")),
        ("[jina]\nenabled = 1\n", ("jina.enabled", "true, false")),
        ("[fetch\n", ("is not TOML", "line 1")),
    ],
)
def test_what_is_wrong_is_named(home, text, named):
    write(home, text)
    with pytest.raises(ConfigError) as caught:
        config.load(home, {})
    for part in named:
        assert part in str(caught.value)


def test_secrets_never_show(home):
    write(home, "[github]\ntoken = 12345\n")
    with pytest.raises(ConfigError) as caught:
        config.load(home, {})
    assert "12345" not in str(caught.value)


def test_a_misspelt_variable_is_an_error(home):
    with pytest.raises(ConfigError, match="CDPFETCH_FETCH_DEADLIN") as caught:
        config.load(home, {"CDPFETCH_FETCH_DEADLIN": "3"})
    assert "CDPFETCH_FETCH_DEADLINE" in (caught.value.hint or "")


def test_a_bad_variable_names_itself(home):
    with pytest.raises(ConfigError, match="CDPFETCH_FETCH_TABS is 'many'"):
        config.load(home, {"CDPFETCH_FETCH_TABS": "many"})


def test_a_file_that_is_no_text_is_told(home):
    with open(home.config, "wb") as file:
        file.write(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not TOML"):
        config.load(home, {})
    with pytest.raises(ConfigError, match="cannot read"):
        config.read_file("/")
