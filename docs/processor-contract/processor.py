"""A processor to begin with: Python 3.9 or newer, and no package. `python3 processor.py 8990` serves it on this machine.

It forecasts each value as that of 24 hours before, with bands from the errors of that rule in the history. Put a model in place of
`forecast`. It does not check requests: add that, as the README describes, before anything but Setpoint can reach it.
"""

import json
import sys
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONTRACT = "svc.data-processing.forecast.v1"
MEDIA_TYPE = "application/vnd.svc.data-processing+json;version=1"
# As in routes.yaml.
PROCESSOR = {"id": "example", "version": "1", "contract": CONTRACT}
# As in the task: the request does not repeat them.
TARGET, SIGN_CONVENTION, EXPIRES_AFTER_SECONDS = "load", "positive_consumption", 3600
LOWEST, HIGHEST = 0.0, float("inf")


def forecast(frame, steps, probabilities):
    """The values of the next steps, and for each its quantiles; None if the history is too short."""
    feature = frame["history"]["features"][TARGET]
    known = feature["values"]  # None where the quality is "missing"
    day = 86_400 // frame["cadence_seconds"]
    values = [known[step % day - day] if len(known) >= day else None for step in range(steps)]
    if any(value is None for value in values):
        return None
    pairs = zip(known[day:], known[:-day])
    errors = sorted(now - before for now, before in pairs if now is not None and before is not None) or [0.0]

    def error_at(probability):
        return errors[round(probability * (len(errors) - 1))]

    # The median is the value itself, as a task may require.
    bands = [error_at(each) - error_at(0.5) for each in probabilities]
    return [(value, [min(max(value + each, LOWEST), HIGHEST) for each in bands]) for value in values]


def answer(request):
    frame, options = request["frame"], request["options"]
    as_of = datetime.fromisoformat(frame["as_of"].replace("Z", "+00:00"))
    now = datetime.now(timezone.utc)
    result = {
        "schema": "svc.data-processing.result.v1",
        **{name: request[name] for name in ("request_id", "task", "binding", "input_digest")},
        "issued_at": label(now),
        "input_watermark": frame["quality"]["input_watermark"],
        "processor": PROCESSOR,
        "warnings": [],
    }
    probabilities = options.get("quantiles", [])
    values = forecast(frame, options["horizon_steps"], probabilities)
    if values is None:
        reason = {"reason_code": "INSUFFICIENT_HISTORY", "retryable": False}
        return {**result, "status": "unavailable", "unavailable": reason}
    points = []
    for step, (value, quantiles) in enumerate(values):
        end = as_of + timedelta(seconds=frame["cadence_seconds"] * (step + 1))
        point = {"timestamp": label(end), "value": value}
        if probabilities:
            point["quantiles"] = [{"probability": p, "value": v} for p, v in zip(probabilities, quantiles)]
        points.append(point)
    output = {
        "schema": "svc.data-processing.output.forecast.v1",
        "kind": "forecast",
        "target": TARGET,
        "unit": frame["history"]["features"][TARGET]["unit"],
        "sign_convention": SIGN_CONVENTION,
        "cadence_seconds": frame["cadence_seconds"],
        "timestamp_semantics": "interval_end",
        "points": points,
    }
    expires_at = label(now + timedelta(seconds=EXPIRES_AFTER_SECONDS))
    return {**result, "status": "produced", "expires_at": expires_at, "output": output}


def not_json(name):
    raise ValueError(f"{name} is not JSON")


def label(time):
    text = time.isoformat(timespec="milliseconds" if time.microsecond >= 1000 else "seconds")
    return text.replace("+00:00", "Z")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply(200, {"status": "ok", "processor": PROCESSOR["id"], "version": PROCESSOR["version"], "contract": CONTRACT})

    def do_POST(self):
        try:
            body = self.rfile.read(int(self.headers["content-length"]))
            request = json.loads(body, parse_constant=not_json)
        except ValueError:
            return self.refuse("JSON_INVALID", "the body is not JSON")
        try:
            self.reply(200, answer(request))
        except (KeyError, TypeError, ValueError):
            self.refuse("REQUEST_INVALID", "the request is not one of the contract")

    def refuse(self, code, message):
        error = {"schema": "svc.data-processing.error.v1", "request_id": "", "code": code, "category": "invalid_request"}
        self.reply(400, {**error, "message": message, "retryable": False, "details": {}})

    def reply(self, status, message):
        body = json.dumps(message).encode()
        self.send_response(status)
        self.send_header("content-type", MEDIA_TYPE)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 64


if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
