"""Prints what C2PA's reference implementation reads in files: their validation state, its failures, and the manifest. No trust list is set."""

import json
import sys

import c2pa

reports = []
for path in sys.argv[1:]:
    try:
        with c2pa.Reader(path) as reader:
            report = json.loads(reader.json())
            found = report["validation_results"]["activeManifest"]
            reports.append(
                {
                    "state": reader.get_validation_state(),
                    "failures": [one["code"] for one in found["failure"]],
                    "successes": [one["code"] for one in found["success"]],
                    "manifest": report["manifests"][report["active_manifest"]],
                }
            )
    except c2pa.C2paError.ManifestNotFound:
        reports.append({"state": "none", "failures": [], "successes": []})
print(json.dumps(reports))
