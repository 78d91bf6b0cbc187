"""A shop in Python 3.9 or later, with the standard library. It sells by payment link, learns of the payment by webhook, and
refunds. The orders are in memory here; keep them in your database.

    POST /orders {"amount":"25.00"}   creates an order; the response has the URL for the customer
    GET  /orders/ID                   shows it
    POST /orders/ID/refund            returns the money
    POST /webhooks                    what Tapwire sends
"""

import base64
import hashlib
import hmac
import json
import time
import uuid
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from os import environ
from urllib.error import HTTPError
from urllib.request import Request, urlopen

GATEWAY = environ["GATEWAY"]
CURRENCY = "ZAR"
MAX_BODY_BYTES = 65_536
MAX_AGE_SECONDS = 300  # Tapwire signs each attempt anew, so an older signature is a copy.
TIMEOUT_SECONDS = 60  # A refund waits for the switch.

orders = {}
newest = {}  # per transaction, the sequence of its newest event


def ask(path, body, key):
    """Calls Tapwire. With the same idempotency key, the call may be repeated after a lost response."""
    headers = {"x-api-key": environ["API_KEY"], "content-type": "application/json", "idempotency-key": key}
    request = Request(GATEWAY + path, json.dumps(body).encode(), headers, method="POST")
    with urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        return json.load(response)


def create_order(amount):
    order_id = f"order-{uuid.uuid4()}"
    link = {
        "merchantId": environ["MERCHANT_ID"],
        "paymentReference": order_id,
        "amount": amount,
        "currencyCode": CURRENCY,
        "timestamp": datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "isConsumerApp": True,
        "image": {"required": False},
    }
    created = ask("/consumer/applink", link, key=order_id)
    orders[order_id] = {"id": order_id, "amount": amount, "state": "open", "url": created["url"]}
    return orders[order_id]


def refund_order(order):
    body = {"amount": order["amount"], "refundReference": f"{order['id']}-refund"}
    refund = ask(f"/transactions/{order['transactionId']}/refund", body, key=body["refundReference"])
    if refund["type"] == "Approved":
        order["state"] = "refunded"
    return order


def is_from_tapwire(headers, body):
    """Standard Webhooks 1.0. The body must be the bytes that were received."""
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > MAX_AGE_SECONDS:
        return False
    key = base64.b64decode(environ["WEBHOOK_SECRET"].replace("whsec_", "", 1))
    signed = f"{headers.get('webhook-id')}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    signatures = headers.get("webhook-signature", "").split(" ")
    return any([hmac.compare_digest(each.encode(), expected.encode()) for each in signatures])


def receive_event(event):
    # The address receives the events of all merchants of the integrator, and another one may use the same reference.
    if event["merchantId"] != environ["MERCHANT_ID"]:
        return
    order = orders.get(event["merchantReference"])
    is_new = newest.get(event["serviceReference"], 0) < event["sequence"]  # neither a repeat nor older than the last one
    if order is None or not is_new:
        return
    newest[event["serviceReference"]] = event["sequence"]
    if event["type"] == "transaction.completed" and event["disposition"] == "Approved":
        is_complete = event["amount"] == float(order["amount"]) and event["currency"] == CURRENCY
        order.update(state="paid" if is_complete else "needs a person", transactionId=event["serviceReference"])
    if event["type"] == "transaction.voided" and order.get("transactionId") == event["serviceReference"]:
        order["state"] = "cancelled"


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        order = orders.get(self.path.split("/")[-1])
        self.respond(200 if order else 404, order or {})

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        if length > MAX_BODY_BYTES:
            return self.respond(413, {})
        body = self.rfile.read(length)
        try:
            self.respond(*self.result_of(body))
        except HTTPError as error:
            self.respond(502, json.load(error))

    def result_of(self, body):
        if self.path == "/webhooks":
            if not is_from_tapwire(self.headers, body):
                return 401, {}
            receive_event(json.loads(body))
            return 204, None
        if self.path == "/orders":
            return 201, create_order(json.loads(body)["amount"])
        _, kind, order_id, act = (self.path.split("/") + ["", "", ""])[:4]
        order = orders.get(order_id)
        if (kind, act) == ("orders", "refund") and order and order["state"] == "paid":
            return 200, refund_order(order)
        return 404, {}

    def respond(self, status, body):
        self.send_response(status)
        text = b"" if body is None else json.dumps(body).encode()
        self.send_header("content-type", "application/json")
        if status != 204:
            self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(environ.get("PORT", "8090"))), Shop)
print(f"The shop listens on port {server.server_address[1]}.", flush=True)
server.serve_forever()
