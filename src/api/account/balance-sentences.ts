/** The messages of the balance paths in every language: the interface's four (part 7), and three more of the gateway. */

export const sentences = {
  noHeader: "No Authorization header",
  unknownKey: "Failed to get token info",
  unknownUser: "Failed to get user quota",
  fault: "Failed to get used quota",
  key_scope: "A client token may not read balances",
  rate_limit_exceeded: "Too many requests",
  method_not_allowed: "Method not allowed",
};
