/** Addresses that may be fetched: every notation of a private one is refused, and ordinary ones are accepted. */

import { expect, test } from "vitest";
import { checkPublicUrl, type UrlRules } from "../../src/net/public-url.ts";

const strict: UrlRules = { allowPrivate: false, ownHosts: ["Gateway.example.com", "assets.example.net."] };
const local: UrlRules = { ...strict, allowPrivate: true };

/** `ok`, or the violated rule. */
const verdict = (text: string, rules = strict) => {
  const result = checkPublicUrl(text, rules);
  return result instanceof URL ? "ok" : result.reason;
};

const sameForAll = (addresses: string[], expected: string, rules = strict) =>
  expect(addresses.map((address) => [address, verdict(address, rules)])).toEqual(addresses.map((address) => [address, expected]));

/** Hosts from a text with white space between them. */
const hosts = (text: string) => text.trim().split(/\s+/);

test("public hosts over http and https are accepted, and normalised", () => {
  sameForAll(
    [
      "https://images.example.com/a.png?x=1#y",
      "http://example.com:80/",
      "https://example.com:443/",
      "http://example.com:443/",
      "https://example.com./",
      "https://bücher.example.de/",
      "https://example.xn--p1ai/",
      "https://8.8.8.8/",
      "https://100.63.255.255/",
      "https://100.128.0.0/",
      "https://172.15.255.255/",
      "https://172.32.0.1/",
      "https://192.0.1.1/",
      "https://198.17.0.1/",
      "https://198.20.0.1/",
      "https://223.255.255.255/",
      "https://[2606:4700:4700::1111]/",
      "https://[2001:4860:4860::8888]/",
      "https://[2a00::1]/",
      "https://local.example.com/",
      "https://notlocalhost.com/",
      "https://api.gateway.example.com/",
    ],
    "ok",
  );
  expect(checkPublicUrl("  HTTPS://EXAMPLE.com:443/a b ", strict)).toHaveProperty("href", "https://example.com/a%20b");
});

test("text that is not a URL, or is too long, is refused", () => {
  sameForAll(
    ["", "example.com/a.png", "//example.com/", "http://", "https://exa mple.com/", "http://[::1", "http://a%00b.com/"],
    "malformed",
  );
  expect(verdict(`https://example.com/${"a".repeat(8192 - 20)}`)).toBe("ok");
  expect(verdict(`https://example.com/${"a".repeat(8192 - 19)}`)).toBe("too_long");
});

test("only http and https are allowed", () => {
  const others = [
    "ftp://example.com/",
    "file:///etc/passwd",
    "data:image/png;base64,AAAA",
    "javascript:alert(1)",
    "ws://example.com/",
    "gopher://127.0.0.1/",
  ];
  sameForAll(others, "scheme");
  sameForAll(others, "scheme", local);
});

test("user names and passwords are refused, also where private addresses are allowed", () => {
  const addresses = [
    "https://user@example.com/",
    "https://user:secret@example.com/",
    "https://:secret@example.com/",
    "https://example.com@127.0.0.1/",
  ];
  sameForAll(addresses, "userinfo");
  sameForAll(addresses, "userinfo", local);
});

test("other ports are refused", () => {
  sameForAll(["http://example.com:8080/", "https://example.com:22/", "https://example.com:0/"], "port");
});

test("private IPv4 addresses are refused in every notation", () => {
  sameForAll(
    [
      "http://127.0.0.1/",
      "http://2130706433/",
      "http://0x7f000001/",
      "http://0X7F.0.0.1/",
      "http://017700000001/",
      "http://0177.0.0.01/",
      "http://127.1/",
      "http://127.0.1/",
      "http://0x7f.1/",
      "http://127.0.0.1./",
      "http://127.0.0.1../",
      "http://0x7f.1../",
      "http://%31%32%37.0.0.1/",
      "http://127%2e0%2e0%2e1/",
      "http://127\u30020\uff0e0\uff611/",
      "http://\uff11\uff12\uff17.0.0.\uff11/",
      "http://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/",
      "http://\u{1d7cf}\u{1d7d0}\u{1d7d5}.\u{1d7ce}.0.1/",
      "http://127.0.\u00ad0.1/",
      "http:\\\\127.0.0.1\\",
      "http:127.0.0.1",
      "http://0/",
      "http://0xa9fea9fe/latest/meta-data/",
    ],
    "host",
  );
  sameForAll(
    [
      "http://256.0.0.1/",
      "http://1.2.3.4.5/",
      "http://0x1ffffffff/",
      "http://127.0.0.09/",
      "http://08/",
      "http://\u0661\u0662\u0667.0.0.1/",
    ],
    "malformed",
  );
});

test("every special IPv4 range is refused at both of its ends", () => {
  sameForAll(
    hosts(`
      0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.255.255.255 169.254.0.0 169.254.169.254
      172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.255 192.0.2.1 192.88.99.1 192.168.0.0 192.168.255.255 198.18.0.0
      198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.0 239.255.255.255 240.0.0.0 255.255.255.255
    `).map((host) => `https://${host}/`),
    "host",
  );
});

test("IPv6 addresses outside the public ranges are refused, including those that embed an IPv4 address", () => {
  sameForAll(
    hosts(`
      :: ::1 0:0:0:0:0:0:0:1 fc00::1 fdff::1 fe80::1 febf::1 fec0::1 ff02::1 2001:db8::1 3fff::1 3fff:fff::1 100::1 ::ffff:127.0.0.1
      ::ffff:8.8.8.8 ::ffff:7f00:1 ::127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b:1::1 2002:7f00:1::
      2002:0808:0808:: 2002:ffff:ffff:: 2001::1 2001:0:7f00:1:: 2001:2::1 2001:10::1 2001:1ff::1 4000::1 1fff::1
    `).map((host) => `https://[${host}]/`),
    "host",
  );
});

test("names of private networks, of the local machine and of the gateway are refused", () => {
  sameForAll(
    hosts(`
      localhost localhost. LOCALHOST db a.localhost printer.local printer.local. metadata.google.internal x.home.arpa
      host.docker.internal nas.lan wiki.corp wiki.intranet db.private router.home localhost.localdomain a..b.com example.com.. .example.com example.123abc
      gateway.example.com GATEWAY.example.com. assets.example.net
    `).map((host) => `http://${host}/`),
    "host",
  );
});

test("a local configuration may allow private hosts and other ports", () => {
  sameForAll(
    ["http://localhost:8787/a", "http://127.0.0.1:9000/", "https://[::1]:1/", "http://db/", "http://gateway.example.com/"],
    "ok",
    local,
  );
});
