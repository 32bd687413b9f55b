package gateway

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// WebhookEvent is the body of a webhook.
type WebhookEvent struct {
	Type      string          `json:"type"`
	Timestamp string          `json:"timestamp"`
	Data      json.RawMessage `json:"data"`
}

// VerifyWebhook verifies a webhook by the account's secret (whsec_...) and parses its body, as it was received. It fails if no signature
// is valid or the webhook is more than five minutes old.
func VerifyWebhook(secret string, header http.Header, body []byte) (WebhookEvent, error) {
	var event WebhookEvent
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return event, fmt.Errorf("the secret is no base64: %w", err)
	}
	id, timestamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return event, errors.New("the webhook is too old, or of the future")
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	wanted := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	// There are two signatures while a secret is being rotated.
	for signature := range strings.SplitSeq(header.Get("Webhook-Signature"), " ") {
		if hmac.Equal(wanted, []byte(signature)) {
			return event, json.Unmarshal(body, &event)
		}
	}
	return event, errors.New("no signature of the webhook is right")
}

// VerifyReceipt verifies the JSON of a receipt (GET /v1/tasks/{id}/receipt) with the JSON of the gateway's keys
// (GET /.well-known/jwks.json). It fails if the signature is invalid or the receipt differs from the signed one.
func VerifyReceipt(answer, jwks []byte) error {
	var signed struct {
		Receipt json.RawMessage `json:"receipt"`
		JWS     string          `json:"jws"`
	}
	var keys struct {
		Keys []struct{ Kid, X string } `json:"keys"`
	}
	if err := errors.Join(json.Unmarshal(answer, &signed), json.Unmarshal(jwks, &keys)); err != nil {
		return err
	}
	parts := strings.Split(signed.JWS, ".")
	if len(parts) != 3 {
		return errors.New("the receipt has no signature")
	}
	var named struct{ Alg, Kid string }
	header, _ := base64.RawURLEncoding.DecodeString(parts[0])
	payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	if err := json.Unmarshal(header, &named); err != nil {
		return err
	}
	for _, one := range keys.Keys {
		key, err := base64.RawURLEncoding.DecodeString(one.X)
		if one.Kid != named.Kid || named.Alg != "EdDSA" || err != nil || len(key) != ed25519.PublicKeySize {
			continue
		}
		if !ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), signature) {
			return errors.New("the signature is wrong")
		}
		if !isSame(payload, signed.Receipt) {
			return errors.New("the receipt is not the one that was signed")
		}
		return nil
	}
	return fmt.Errorf("there is no EdDSA key %s", named.Kid)
}

func isSame(a, b []byte) bool {
	var first, second any
	return json.Unmarshal(a, &first) == nil && json.Unmarshal(b, &second) == nil && reflect.DeepEqual(first, second)
}
