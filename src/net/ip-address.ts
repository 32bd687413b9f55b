/** Decides which IP addresses are public. Reads the one notation of each family that a parsed URL can have. */

/** A block of addresses, given by its first 32 bits; all IPv4 and all IPv6 blocks below fit into them. */
type Block = readonly [prefix: number, bits: number];

// https://www.iana.org/assignments/iana-ipv4-special-registry and multicast
const specialV4: readonly Block[] = [
  [0x00000000, 8], // 0.0.0.0/8 "this network"
  [0x0a000000, 8], // 10.0.0.0/8 private
  [0x64400000, 10], // 100.64.0.0/10 shared by carriers
  [0x7f000000, 8], // 127.0.0.0/8 loopback
  [0xa9fe0000, 16], // 169.254.0.0/16 link-local, cloud metadata
  [0xac100000, 12], // 172.16.0.0/12 private
  [0xc0000000, 24], // 192.0.0.0/24 protocol assignments
  [0xc0000200, 24], // 192.0.2.0/24 documentation
  [0xc0586300, 24], // 192.88.99.0/24 6to4 relays
  [0xc0a80000, 16], // 192.168.0.0/16 private
  [0xc6120000, 15], // 198.18.0.0/15 benchmarks
  [0xc6336400, 24], // 198.51.100.0/24 documentation
  [0xcb007100, 24], // 203.0.113.0/24 documentation
  [0xe0000000, 4], // 224.0.0.0/4 multicast
  [0xf0000000, 4], // 240.0.0.0/4 reserved, broadcast
];

// https://www.iana.org/assignments/ipv6-unicast-address-assignments: all assigned addresses lie in 2000::/3, so loopback, private,
// link-local, multicast and addresses that embed an IPv4 one (mapped, compatible, NAT64) are refused because they lie outside.
const unicastV6: Block = [0x20000000, 3];

// https://www.iana.org/assignments/iana-ipv6-special-registry, the part inside 2000::/3
const specialV6: readonly Block[] = [
  [0x20010000, 23], // 2001::/23 protocol assignments: Teredo (embeds IPv4), benchmarks, ORCHID
  [0x20010db8, 32], // 2001:db8::/32 documentation
  [0x20020000, 16], // 2002::/16 6to4 (embeds IPv4)
  [0x3fff0000, 20], // 3fff::/20 documentation
];

/**
 * The part of a client's address that limits count by: a client with IPv6 has all addresses of its /64. `address` is in any notation;
 * another text is returned unchanged.
 */
export function toNetwork(address: string): string {
  const hostname = address.includes(":") ? URL.parse(`http://[${address}]`)?.hostname : undefined;
  if (hostname === undefined) return address;
  const [head = "", tail] = hostname.slice(1, -1).split("::");
  const groups = head === "" ? [] : head.split(":");
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === "" ? 0 : tail.split(":").length);
  const all = [...groups, ...Array.from({ length: missing }, () => "0"), ...(tail ? tail.split(":") : [])];
  return `${all.slice(0, 4).join(":")}::/64`;
}

const isIn = (address: number, [prefix, bits]: Block) => address >>> (32 - bits) === prefix >>> (32 - bits);

/**
 * Returns whether a URL's hostname is an IP address, and if so whether it is public. The hostname must come from the URL parser, which has
 * already turned decimal, octal, hexadecimal, short and Unicode notations into `1.2.3.4` or `[2001:db8::1]`.
 */
export function addressKind(hostname: string): "public" | "special" | "name" {
  if (hostname.startsWith("[")) {
    // The first two groups are enough. A missing group is zero, because `::` stands for zeros.
    const [first = "", second = ""] = hostname.slice(1, -1).split(":");
    const address = ((parseInt(first || "0", 16) << 16) | parseInt(second || "0", 16)) >>> 0;
    return isIn(address, unicastV6) && !specialV6.some((block) => isIn(address, block)) ? "public" : "special";
  }
  if (!/^\d+\.\d+\.\d+\.\d+$/.test(hostname)) return "name";
  const address = hostname.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0);
  return specialV4.some((block) => isIn(address, block)) ? "special" : "public";
}
