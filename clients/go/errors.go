package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

var errTimeout = errors.New("nothing arrived within the time limit")

// Error is an answer that refuses. Compare Code, which is the same in every language.
type Error struct {
	Status int
	// invalid_request, cost_limit_exceeded ... Empty if the answer is not the gateway's, such as a page of the platform's.
	Code    string
	Message string
	// The first violated field.
	Param string
	// Every violated rule.
	Details []ErrorDetail
	// For the operator, when you report a problem.
	RequestID  string
	RetryAfter time.Duration
	Header     http.Header
	Body       []byte
}

func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("HTTP %d", e.Status)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// ConnectionError says that no whole answer arrived: the outcome of the request is unknown.
type ConnectionError struct {
	Err error
	// An answer had begun: the work may be done.
	HasBegun  bool
	IsTimeout bool
}

func (e *ConnectionError) Error() string {
	if e.IsTimeout {
		return e.Err.Error()
	}
	if e.HasBegun {
		return "the answer was cut: " + e.Err.Error()
	}
	return "the gateway cannot be reached: " + e.Err.Error()
}

func (e *ConnectionError) Unwrap() error { return e.Err }

// TaskFailedError is a task that failed; it cost nothing.
type TaskFailedError struct{ Task Task }

func (e *TaskFailedError) Error() string {
	if e.Task.Error == nil {
		return "the task " + e.Task.ID + " failed"
	}
	return fmt.Sprintf("%s: %s", e.Task.Error.Code, e.Task.Error.Message)
}

// Code is that of the task's error.
func (e *TaskFailedError) Code() string {
	if e.Task.Error == nil {
		return ""
	}
	return string(e.Task.Error.Code)
}

// DeliveryFailedError is a task that completed, and whose files could not be delivered. They can still be downloaded.
type DeliveryFailedError struct{ Task Task }

func (e *DeliveryFailedError) Error() string {
	return "the files of " + e.Task.ID + " were not delivered"
}

func toError(status int, header http.Header, body []byte) *Error {
	result := &Error{Status: status, Header: header, Body: body, RequestID: header.Get("X-Request-Id")}
	if seconds, err := strconv.Atoi(header.Get("Retry-After")); err == nil {
		result.RetryAfter = time.Duration(seconds) * time.Second
	}
	var answer struct {
		Error ErrorObject `json:"error"`
	}
	// A page of HTML or foreign JSON: only the status is known.
	if json.Unmarshal(body, &answer) != nil {
		return result
	}
	result.Code, result.Message = answer.Error.Code, answer.Error.Message
	if answer.Error.Param != nil {
		result.Param = *answer.Error.Param
	}
	if answer.Error.Details != nil {
		result.Details = *answer.Error.Details
	}
	return result
}

// isPassing is true for faults that a repeat may not meet. Work that must not be done twice is repeated only if the gateway itself says
// that it is busy, or was never reached: nothing else says that it was not done.
func isPassing(err error, isOnce bool) bool {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Status == 408 || refused.Status == 429 || refused.Status >= 500 && (!isOnce || refused.Status == 503 && refused.Code != "")
	}
	var cut *ConnectionError
	var network *net.OpError
	return errors.As(err, &cut) && (!isOnce || !cut.HasBegun && errors.As(cut.Err, &network) && network.Op == "dial")
}
