"""The providers of models that LangChain knows: what has to be installed and set for each.

One that is not in the table is used all the same: its key is taken to stand in `NAME_API_KEY` and
its package to be `langchain-name`, which is LangChain's own habit.
"""

from dataclasses import dataclass

from graphreader.errors import SettingsError
from graphreader.settings import OFFLINE


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider: the variable of its key, LangChain's package for it.

    `name` is LangChain's, as it stands before the colon of "provider:model"; `address` is the
    variable that holds the base URL, if we know of one.
    """

    name: str
    key: str
    package: str
    address: str = ""

    @property
    def install(self) -> str:
        """The command that installs what the provider needs."""
        return f"pip install {self.package}"


_GOOGLE_CLOUD = "GOOGLE_APPLICATION_CREDENTIALS"
_TABLE = (
    Provider("openai", "OPENAI_API_KEY", "langchain-openai", address="OPENAI_BASE_URL"),
    Provider("azure_openai", "AZURE_OPENAI_API_KEY", "langchain-openai"),
    Provider("anthropic", "ANTHROPIC_API_KEY", "langchain-anthropic", "ANTHROPIC_BASE_URL"),
    Provider("ollama", "OLLAMA_API_KEY", "langchain-ollama", "OLLAMA_HOST"),
    Provider("google_genai", "GOOGLE_API_KEY", "langchain-google-genai"),
    Provider("mistralai", "MISTRAL_API_KEY", "langchain-mistralai"),
    Provider("groq", "GROQ_API_KEY", "langchain-groq"),
    Provider("deepseek", "DEEPSEEK_API_KEY", "langchain-deepseek"),
    Provider("xai", "XAI_API_KEY", "langchain-xai"),
    Provider("openrouter", "OPENROUTER_API_KEY", "langchain-openrouter"),
    Provider("anthropic_bedrock", "AWS_ACCESS_KEY_ID", "langchain-aws"),
    Provider("bedrock", "AWS_ACCESS_KEY_ID", "langchain-aws"),
    Provider("bedrock_converse", "AWS_ACCESS_KEY_ID", "langchain-aws"),
    Provider("google_anthropic_vertex", _GOOGLE_CLOUD, "langchain-google-vertexai"),
    Provider("google_vertexai", _GOOGLE_CLOUD, "langchain-google-vertexai"),
    Provider("huggingface", "HUGGINGFACEHUB_API_TOKEN", "langchain-huggingface"),
    Provider("ibm", "WATSONX_APIKEY", "langchain-ibm"),
    Provider("perplexity", "PPLX_API_KEY", "langchain-perplexity"),
    Provider("nvidia", "NVIDIA_API_KEY", "langchain-nvidia-ai-endpoints"),
)
PROVIDERS = {provider.name: provider for provider in _TABLE}


def provider_of(name: str) -> Provider:
    """The provider of that name, out of the table or as LangChain's habits have it."""
    name = name.replace("-", "_").lower()
    usual = Provider(name, f"{name.upper()}_API_KEY", f"langchain-{name.replace('_', '-')}")
    return PROVIDERS.get(name, usual)


def provider_and_model(name: str, setting: str) -> tuple[Provider, str]:
    """Both parts of "provider:model"; the model's name may hold further colons.

    Raises SettingsError, which names the variable `setting`, where a part is missing.
    """
    provider, colon, model = name.partition(":")
    if not (provider and colon and model):
        raise SettingsError(
            f"{setting} is '{name}', but must be provider:model (such as openai:{name or 'gpt'}) "
            f"or {OFFLINE}."
        )
    return provider_of(provider), model
