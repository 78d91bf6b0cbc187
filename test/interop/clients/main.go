// Uses the client that was generated for Go; generated-clients.test.ts describes the commands.
package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	tapwire "tapwire.example/client"
)

var env = os.Getenv

func main() {
	run := checkWebhook
	if os.Args[1] == "pay" {
		run = pay
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func pay() error {
	configuration := tapwire.NewConfiguration()
	configuration.Servers = tapwire.ServerConfigurations{{URL: env("GATEWAY")}}
	client := tapwire.NewAPIClient(configuration)
	asMerchant := context.WithValue(context.Background(), tapwire.ContextAccessToken, env("TOKEN"))
	body := tapwire.NewMobileTransaction(env("REFERENCE"), env("GENERAL"), env("PAYMENT"))
	response, _, err := client.TapsAPI.SubmitTap(asMerchant).XDeviceInstallationId(env("DEVICE")).MobileTransaction(*body).Execute()
	if err != nil {
		return err
	}
	tap := response.OnlineAuthorizationResponse
	keys := map[string]tapwire.APIKey{"apiKey": {Key: env("API_KEY")}}
	asIntegrator := context.WithValue(context.Background(), tapwire.ContextAPIKeys, keys)
	amount := env("REFUND")
	half := tapwire.NewRefund(tapwire.DecimalAmount{String: &amount}, env("REFERENCE")+"-refund")
	refund, _, err := client.TransactionsAPI.RefundSale(asIntegrator, tap.ServiceReference).Refund(*half).IdempotencyKey(env("REFERENCE")).Execute()
	if err != nil {
		return err
	}
	fmt.Println(tap.Type, tap.AmountMinor, refund.Type, refund.Amount)
	return nil
}

// Standard Webhooks 1.0: one of the signatures must be that of the secret.
func checkWebhook() error {
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(env("WEBHOOK_SECRET"), "whsec_"))
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", env("WEBHOOK_ID"), env("WEBHOOK_TIMESTAMP"), body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	isSigned := false
	for _, each := range strings.Fields(env("WEBHOOK_SIGNATURE")) {
		isSigned = isSigned || hmac.Equal([]byte(each), []byte(expected))
	}
	if !isSigned {
		fmt.Println("refused")
		return nil
	}
	var event tapwire.Webhook
	if err := json.Unmarshal(body, &event); err != nil {
		return err
	}
	fmt.Println(event.Type, event.Disposition, event.AmountMinor, event.Currency)
	return nil
}
