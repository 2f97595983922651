package broker

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/provider/internal/plan"
	"github.com/captf-toolkit/captf/provider/internal/result"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// ResultKey is the key of the per-run Secret that holds the result, for a pod that vanishes before its termination message
// is read.
const ResultKey = "result.json"

// maxPlan is the largest plan that is judged here, in bytes of its JSON form. Judging takes some ten times as much memory,
// and the sidecar has little.
const maxPlan = 32 << 20

// planKey is the key of the Secret with the plan key (B-363).
const planKey = "key"

func (s *Server) putResult(w http.ResponseWriter, r *http.Request) {
	raw, ok := body(w, r, result.MaxBytes)
	if !ok {
		return
	}
	if _, err := result.Decode(raw); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := call(r)
	defer cancel()
	err := again(func() error {
		var secret corev1.Secret
		if err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Key.Namespace, Name: s.RunSecret}, &secret); err != nil {
			return err
		}
		if string(secret.Data[ResultKey]) == string(raw) {
			return nil
		}
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[ResultKey] = raw
		err := s.Client.Update(ctx, &secret)
		if apierrors.IsConflict(err) {
			return state.ErrConflict
		}
		return err
	})
	if err != nil {
		code := status(err)
		if apierrors.IsNotFound(err) {
			code = http.StatusNotFound
		}
		http.Error(w, fmt.Sprintf("storing the result in Secret %s: %s", s.RunSecret, err), code)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) judgePlan(w http.ResponseWriter, r *http.Request) {
	if s.PlanKeySecret == "" {
		http.Error(w, "this run has no plan key", http.StatusNotFound)
		return
	}
	raw, ok := body(w, r, maxPlan)
	if !ok {
		return
	}
	ctx, cancel := call(r)
	defer cancel()
	var secret corev1.Secret
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Key.Namespace, Name: s.PlanKeySecret}, &secret)
	if err != nil {
		code := status(err)
		if apierrors.IsNotFound(err) {
			code = http.StatusUnprocessableEntity
		}
		http.Error(w, fmt.Sprintf("reading the plan key in Secret %s: %s", s.PlanKeySecret, err), code)
		return
	}
	report, err := plan.Judge(secret.Data[planKey], raw) // refuses a short key (B-384)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	reply(w, http.StatusOK, report)
}
