"""A description of the service that tools can read (OpenAPI 3.1)."""

from __future__ import annotations

from typing import Any

from scstream import __version__
from scstream.service.answers import ANSWERS, ARROW, JSON

_ROWS: dict[str, Any] = {
    "type": "array",
    "description": "Rows: lists of values in the order of the model's columns, or objects of "
    "column names and values.",
    "items": {"oneOf": [{"type": "array"}, {"type": "object"}]},
}
_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}}


def description(has_model: bool, learning: bool) -> dict[str, Any]:
    """Return the description of a service."""
    paths: dict[str, Any] = {
        "/health": {"get": _plain("Whether the service is there.", JSON)},
        "/metrics": {"get": _plain("Figures for Prometheus.", "text/plain")},
        "/api/chronicle": {"get": _plain("The run so far, thinned.", JSON)},
        "/api/updates": {
            "get": _plain("Each batch as it is learned (server-sent events).", "text/event-stream")
        },
    }
    if has_model:
        paths["/predict"] = {"post": _predict()}
    if has_model and learning:
        paths["/learn"] = {"post": _learn()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "scstream", "version": __version__},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _plain(summary: str, kind: str) -> dict[str, Any]:
    return {
        "summary": summary,
        "responses": {"200": {"description": "The answer.", "content": {kind: {}}}},
    }


def _predict() -> dict[str, Any]:
    fields = {
        "name": "fields",
        "in": "query",
        "description": "What to answer with, separated by commas.",
        "schema": {"type": "string", "default": "label", "examples": [",".join(ANSWERS)]},
    }
    return {**_with_rows("Labels of rows.", {}), "parameters": [fields]}


def _learn() -> dict[str, Any]:
    return _with_rows("Learn a batch of rows.", {"time": {"type": ["number", "string", "null"]}})


def _with_rows(summary: str, more: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "required": ["rows"], "properties": {"rows": _ROWS, **more}}
    answers = {"type": "object", "additionalProperties": {"type": "array"}}
    errors = {
        status: {"description": reason, "content": {JSON: {"schema": _ERROR}}}
        for status, reason in (
            ("400", "The body cannot be read."),
            ("413", "Too much at once."),
            ("415", "Neither JSON nor an Arrow stream."),
            ("422", "The model does not take these rows; the error says why."),
        )
    }
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": {JSON: {"schema": schema}, ARROW: {}}},
        "responses": {
            "200": {
                "description": "A list for each field.",
                "content": {JSON: {"schema": answers}},
            },
            **errors,
        },
    }
