"""Uses the client that was generated for Python; generated-clients.test.ts describes the commands."""

import base64
import hashlib
import hmac
import sys
from os import environ as env

import tapwire


def client(**credentials):
    return tapwire.ApiClient(tapwire.Configuration(host=env["GATEWAY"], **credentials))


def pay():
    body = tapwire.MobileTransaction(
        merchant_reference=env["REFERENCE"], general_card_data=env["GENERAL"], payment_card_data=env["PAYMENT"]
    )
    taps = tapwire.TapsApi(client(access_token=env["TOKEN"]))
    tap = taps.submit_tap(env["DEVICE"], body).online_authorization_response
    half = tapwire.Refund(amount=tapwire.DecimalAmount(env["REFUND"]), refund_reference=env["REFERENCE"] + "-refund")
    transactions = tapwire.TransactionsApi(client(api_key={"apiKey": env["API_KEY"]}))
    refund = transactions.refund_sale(tap.service_reference, half, idempotency_key=env["REFERENCE"])
    print(tap.type, tap.amount_minor, refund.type, refund.amount)


def check_webhook():
    """Standard Webhooks 1.0: one of the signatures must be that of the secret."""
    body = sys.stdin.buffer.read()
    secret = base64.b64decode(env["WEBHOOK_SECRET"].removeprefix("whsec_"))
    signed = f"{env['WEBHOOK_ID']}.{env['WEBHOOK_TIMESTAMP']}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()
    if not any([hmac.compare_digest(each, expected) for each in env["WEBHOOK_SIGNATURE"].split()]):
        print("refused")
        return
    event = tapwire.Webhook.from_json(body)
    print(event.type, event.disposition, event.amount_minor, event.currency)


pay() if sys.argv[1] == "pay" else check_webhook()
