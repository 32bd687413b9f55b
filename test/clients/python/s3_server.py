"""An S3 server that verifies signatures (moto), for deliveries.

Prints a line of JSON with its address and credentials. Then answers each line of its input: a key, with what the bucket has under it;
"unlock" lets one request pass without a signature. Ends with its input.
"""

import hashlib
import json
import os
import sys

# The calls below that make the user, its key and its rights; all later ones need a valid signature.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"

import boto3
import requests
from botocore.config import Config
from botocore.exceptions import ClientError
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
endpoint = f"http://127.0.0.1:{port}"
region = "us-east-1"


def client(service, key="none", secret="none"):
    path_style = Config(s3={"addressing_style": "path"}, signature_version="s3v4" if service == "s3" else None)
    return boto3.client(
        service, endpoint_url=endpoint, region_name=region, aws_access_key_id=key, aws_secret_access_key=secret, config=path_style
    )


iam = client("iam")
iam.create_user(UserName="gateway")
made = iam.create_access_key(UserName="gateway")["AccessKey"]
allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
iam.put_user_policy(UserName="gateway", PolicyName="all", PolicyDocument=json.dumps(allowed))
client("s3").create_bucket(Bucket="media")

s3 = client("s3", made["AccessKeyId"], made["SecretAccessKey"])
presigned = s3.generate_presigned_url("put_object", Params={"Bucket": "media", "Key": "cover.png"}, ExpiresIn=600)
print(
    json.dumps(
        {
            "endpoint": endpoint,
            "region": region,
            "access_key_id": made["AccessKeyId"],
            "secret_access_key": made["SecretAccessKey"],
            "presigned": presigned,
        }
    ),
    flush=True,
)

for line in sys.stdin:
    if line.strip() == "unlock":
        requests.post(f"{endpoint}/moto-api/reset-auth", data="1", timeout=10)
        print("unlocked", flush=True)
        continue
    try:
        found = s3.get_object(Bucket="media", Key=line.strip())
        content = found["Body"].read()
        answer = {"type": found["ContentType"], "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    except ClientError as error:
        answer = {"error": error.response["Error"]["Code"]}
    print(json.dumps(answer), flush=True)

server.stop()
