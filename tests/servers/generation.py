# SPDX-License-Identifier: MIT
"""Tokens and the shapes in which OpenAI's API carries them."""

import json
import random
import time

WORDS = (
    "a canary in the coal mine sings while the air is good and is silent when it is not "
    "so listen before you go down and come up when the song ends"
).split()


def greedy():
    """The same choices every time."""
    rng = random.Random(0)
    return rng.randrange


def sampled():
    rng = random.Random()
    return rng.randrange


def words(count, options, pick):
    """Yield up to COUNT words, each with the blank before it, as most tokenizers have it."""
    if options.no_tokens:
        return
    if options.text is not None:
        yield from (" " + word for word in options.text.split()[:count])
        return
    for _ in range(count):
        yield " " + WORDS[pick(len(WORDS))]


def models(model):
    return {
        "object": "list",
        "data": [
            {
                "id": model,
                "object": "model",
                "created": int(time.time()),
                "owned_by": "coalmine",
                "root": model,
                "max_model_len": 4096,
            }
        ],
    }


class Chat:
    """/v1/chat/completions"""

    kind, chunk_kind, prompt_key = "chat.completion", "chat.completion.chunk", "messages"

    @staticmethod
    def choice(text, reasoning):
        message = {"role": "assistant", "content": text, "tool_calls": None}
        if reasoning:
            message.update(content=None, reasoning_content=text)
        return {"message": message}

    @staticmethod
    def first_delta():
        return {"delta": {"role": "assistant", "content": ""}}

    @staticmethod
    def delta(word, reasoning):
        return {"delta": {"reasoning_content" if reasoning else "content": word}}

    @staticmethod
    def last_delta():
        return {"delta": {}}


class Completion:
    """/v1/completions"""

    kind, chunk_kind, prompt_key = "text_completion", "text_completion", "prompt"

    @staticmethod
    def choice(text, _):
        return {"text": text}

    @staticmethod
    def first_delta():
        return None

    @staticmethod
    def delta(word, _):
        return {"text": word}

    @staticmethod
    def last_delta():
        return {"text": ""}


SHAPES = {"/v1/chat/completions": Chat, "/v1/completions": Completion}


class Request:
    """One generation request; a wrong one raises ValueError with a text for the client."""

    def __init__(self, shape, body, options):
        if shape.prompt_key not in body:
            raise ValueError(f"{shape.prompt_key}: field required")
        if body.get("model", options.model) != options.model:
            raise ValueError(f"The model `{body['model']}` does not exist.")
        self.max_tokens = int(body.get("max_completion_tokens") or body.get("max_tokens") or 16)
        self.temperature = float(body.get("temperature", 1.0))
        self.streamed = bool(body.get("stream"))
        self._usage = bool((body.get("stream_options") or {}).get("include_usage"))
        self._shape = shape
        self._reasoning = options.reasoning
        self._model = options.model
        self._prompt_tokens = len(json.dumps(body[shape.prompt_key]).split())
        self._head = {
            "id": f"gen-{random.getrandbits(64):016x}",
            "created": int(time.time()),
            "model": self._model,
        }

    def whole(self, generated):
        """The answer to a request that is not streamed."""
        choice = self._shape.choice("".join(generated), self._reasoning)
        choice.update(index=0, logprobs=None, finish_reason=self._finish(len(generated)))
        return {
            **self._head,
            "object": self._shape.kind,
            "choices": [choice],
            "usage": self._usage_of(len(generated)),
        }

    def events(self, generated):
        """The data of each server-sent event of a streamed answer."""
        count = 0
        if self._shape.first_delta():
            yield self._chunk(self._shape.first_delta())
        for word in generated:
            count += 1
            yield self._chunk(self._shape.delta(word, self._reasoning))
        yield self._chunk(self._shape.last_delta(), self._finish(count))
        if self._usage:
            yield json.dumps(
                {
                    **self._head,
                    "object": self._shape.chunk_kind,
                    "choices": [],
                    "usage": self._usage_of(count),
                }
            )
        yield "[DONE]"

    def _chunk(self, choice, finish_reason=None):
        choice = {"index": 0, **choice, "logprobs": None, "finish_reason": finish_reason}
        return json.dumps({**self._head, "object": self._shape.chunk_kind, "choices": [choice]})

    def _finish(self, count):
        return "length" if count >= self.max_tokens else "stop"

    def _usage_of(self, count):
        return {
            "prompt_tokens": self._prompt_tokens,
            "completion_tokens": count,
            "total_tokens": self._prompt_tokens + count,
        }
