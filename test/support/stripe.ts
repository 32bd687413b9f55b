/** Stripe in memory: the parts of its API that payments use, what people and banks do on its pages, and its signed events. Answers with the fields that Stripe documents for them. */

export interface StripeObject {
  id: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- objects of many kinds, looked at field by field
  [field: string]: any;
}

export interface StripeEvent {
  id: string;
  type: string;
  data: { object: StripeObject };
}

type Params = Record<string, string>;

const toMetadata = (params: Params, prefix: string) =>
  Object.fromEntries(
    Object.entries(params).flatMap(([name, value]) =>
      name.startsWith(`${prefix}[`) && name.endsWith("]") ? [[name.slice(prefix.length + 1, -1), value]] : [],
    ),
  );

const seconds = () => Math.floor(Date.now() / 1000);

export class StripeEmulator {
  readonly customers = new Map<string, StripeObject>();
  readonly sessions = new Map<string, StripeObject>();
  readonly intents = new Map<string, StripeObject>();
  readonly charges = new Map<string, StripeObject>();
  readonly refunds = new Map<string, StripeObject>();
  readonly disputes = new Map<string, StripeObject>();
  /** What the bank says to a payment with each stored card. */
  readonly cards = new Map<string, "good" | "declined" | "asks" | "slow">();
  /** The events that nobody has received yet, oldest first. */
  readonly events: StripeEvent[] = [];
  /** `POST /v1/customers` and the like, in their order. */
  readonly calls: string[] = [];
  /** Answers the next requests with faults: a status, or "lost" for an answer that does not arrive. */
  readonly faults: (number | "lost")[] = [];
  /** The same for the next payments with a stored card. */
  readonly chargeFaults: (number | "lost")[] = [];
  readonly secret: string;
  readonly #answers = new Map<string, { request: string; answer: StripeObject; status: number }>();
  readonly #run = crypto.randomUUID().slice(0, 8);
  #ids = 0;

  constructor(secret = "whsec_test_secret") {
    this.secret = secret;
  }

  #id(kind: string): string {
    return `${kind}_${this.#run}${++this.#ids}`;
  }

  #emit(type: string, object: StripeObject): StripeEvent {
    const event = { id: this.#id("evt"), object: "event", type, created: seconds(), livemode: false, data: { object: { ...object } } };
    this.events.push(event);
    return event;
  }

  /** The body of an event and its signature, made at `at` (milliseconds). */
  async sign(event: object, at = Date.now(), secret = this.secret): Promise<{ body: string; signature: string }> {
    const body = JSON.stringify(event);
    const time = Math.floor(at / 1000);
    const encoder = new TextEncoder();
    const key = await crypto.subtle.importKey("raw", encoder.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(`${time}.${body}`)));
    return { body, signature: `t=${time},v1=${Array.from(mac, (byte) => byte.toString(16).padStart(2, "0")).join("")}` };
  }

  /** A person pays on the page of a session. */
  pay(sessionId: string): StripeObject {
    const session = this.sessions.get(sessionId)!;
    const intent = this.#newIntent({
      amount: session["amount_total"],
      currency: session["currency"],
      customer: session["customer"],
      metadata: session["intent_metadata"],
    });
    Object.assign(session, { status: "complete", payment_status: "paid", payment_intent: intent.id });
    this.#succeed(intent);
    this.#emit("checkout.session.completed", session);
    return intent;
  }

  /** A person stores a card on the page of a session. Returns the card. */
  storeCard(sessionId: string, bank: "good" | "declined" | "asks" | "slow" = "good"): string {
    const session = this.sessions.get(sessionId)!;
    const card = this.#id("pm");
    this.cards.set(card, bank);
    const setup = { id: this.#id("seti"), object: "setup_intent", created: seconds(), status: "succeeded", payment_method: card };
    this.#emit("setup_intent.succeeded", { ...setup, customer: session["customer"], metadata: session["setup_metadata"] });
    return card;
  }

  /** The bank has decided about a payment that took its time. */
  decide(intentId: string, isPaid: boolean): void {
    const intent = this.intents.get(intentId)!;
    if (isPaid) this.#succeed(intent);
    else intent["status"] = "requires_payment_method";
  }

  /** Nobody paid in a day. */
  expire(sessionId: string): void {
    const session = this.sessions.get(sessionId)!;
    session["status"] = "expired";
    this.#emit("checkout.session.expired", session);
  }

  /** A payment of something else that uses the same account of Stripe. */
  payElsewhere(metadata: Record<string, string> = {}): StripeObject {
    const intent = this.#newIntent({ amount: 500, currency: "usd", customer: null, metadata });
    this.#succeed(intent);
    return intent;
  }

  #newIntent(fields: object): StripeObject {
    const intent: StripeObject = {
      id: this.#id("pi"),
      object: "payment_intent",
      created: seconds(),
      status: "requires_payment_method",
      amount_received: 0,
      latest_charge: null,
      payment_method: null,
      setup_future_usage: null,
      ...fields,
    };
    this.intents.set(intent.id, intent);
    return intent;
  }

  #succeed(intent: StripeObject): void {
    const charge = this.#id("ch");
    this.charges.set(charge, {
      id: charge,
      object: "charge",
      receipt_url: `https://pay.stripe.com/receipts/${charge}`,
      payment_method_details: { type: "card", card: { brand: "visa", last4: "4242" } },
    });
    Object.assign(intent, { status: "succeeded", amount_received: intent["amount"], latest_charge: charge });
    this.#emit("payment_intent.succeeded", intent);
  }

  /** The operator refunds a part of a payment. */
  refund(intentId: string, amount: number): StripeObject {
    const refund = {
      id: this.#id("re"),
      object: "refund",
      created: seconds(),
      payment_intent: intentId,
      amount,
      currency: "usd",
      status: "pending",
    };
    this.refunds.set(refund.id, refund);
    this.#emit("refund.created", refund);
    return refund;
  }

  setRefund(id: string, status: "succeeded" | "failed" | "canceled"): void {
    const refund = this.refunds.get(id)!;
    refund["status"] = status;
    this.#emit("refund.updated", refund);
    if (status === "failed") this.#emit("refund.failed", refund);
  }

  /** The bank of a payer disputes a payment, or only inquires; a refund may have prevented the dispute. */
  dispute(intentId: string, status: "needs_response" | "warning_needs_response" | "prevented" = "needs_response"): StripeObject {
    const { amount, currency } = this.intents.get(intentId)!;
    const dispute = { id: this.#id("dp"), object: "dispute", created: seconds(), payment_intent: intentId, amount, currency, status };
    this.disputes.set(dispute.id, dispute);
    this.#emit("charge.dispute.created", dispute);
    if (status === "needs_response") this.#emit("charge.dispute.funds_withdrawn", dispute);
    return dispute;
  }

  setDispute(id: string, status: "won" | "lost" | "warning_closed"): void {
    const dispute = this.disputes.get(id)!;
    dispute["status"] = status;
    this.#emit("charge.dispute.closed", dispute);
    if (status === "won") this.#emit("charge.dispute.funds_reinstated", dispute);
  }

  /** Answers a request of Stripe's API. */
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const text = new TextDecoder().decode(await request.arrayBuffer());
    const name = `${request.method} ${pathname.replace(/(cus|cs|pi|pm)_\w+/, "$1")}`;
    this.calls.push(name);
    if (request.headers.get("authorization") !== "Bearer sk_test_key") return failure(401, "authentication_error", "Invalid API Key");
    const fault = (name === "POST /v1/payment_intents" ? this.chargeFaults.shift() : undefined) ?? this.faults.shift();
    if (typeof fault === "number") return failure(fault, "api_error", "scripted fault");
    const params = Object.fromEntries(new URLSearchParams(request.method === "GET" ? searchParams : text));
    const idempotencyKey = request.headers.get("idempotency-key");
    const known = idempotencyKey === null ? undefined : this.#answers.get(idempotencyKey);
    if (known && known.request !== `${name} ${text}`)
      return failure(400, "idempotency_error", "Keys for idempotent requests need the same parameters");
    const answer = known?.answer ?? structuredClone(this.#serve(request.method, pathname, params));
    if (!answer) return failure(404, "invalid_request_error", "No such object", "resource_missing");
    // Stripe repeats refusals of a bank, too.
    const status = known?.status ?? (answer["error"] ? (answer["error"].type === "card_error" ? 402 : 400) : 200);
    if (idempotencyKey !== null) this.#answers.set(idempotencyKey, { request: `${name} ${text}`, answer, status });
    if (fault === "lost") throw new TypeError("the connection was lost");
    return Response.json(answer, { status });
  }

  #serve(method: string, path: string, params: Params): StripeObject | undefined {
    const [, , kind = "", id = ""] = path.split("/");
    if (method === "GET" && id === "") return this.#list(kind, params);
    if (method === "GET" && kind === "payment_intents") return this.#intent(id, params["expand[0]"] === "latest_charge");
    if (method === "GET" && kind === "payment_methods")
      return this.cards.has(id) ? { id, object: "payment_method", type: "card", card: { brand: "visa", last4: "4242" } } : undefined;
    if (method === "GET" && path.startsWith("/v1/checkout/sessions/")) return this.sessions.get(path.split("/")[4]!);
    if (method === "DELETE" && kind === "customers")
      return this.customers.delete(id) ? { id, object: "customer", deleted: true } : undefined;
    if (path === "/v1/payment_intents") return this.#charge(params);
    if (kind === "payment_intents" && path.endsWith("/cancel")) return this.#cancel(id);
    if (path === "/v1/customers") return this.#createCustomer(params);
    if (path === "/v1/checkout/sessions") return this.#createSession(params);
    if (path === "/v1/billing_portal/sessions" && this.customers.has(params["customer"] ?? ""))
      return { id: this.#id("bps"), object: "billing_portal.session", url: `https://billing.stripe.com/p/${params["customer"]}` };
    return undefined;
  }

  /** A payment intent names its charge, or contains it if it is to be expanded. */
  #intent(id: string, isExpanded: boolean): StripeObject | undefined {
    const intent = this.intents.get(id);
    return intent && isExpanded ? { ...intent, latest_charge: this.charges.get(intent["latest_charge"]) ?? null } : intent;
  }

  /** Stripe cancels a payment that can still succeed, and refuses one that has an outcome. */
  #cancel(id: string): StripeObject | undefined {
    const intent = this.intents.get(id);
    if (!intent) return undefined;
    const { status } = intent;
    if (status !== "succeeded" && status !== "canceled") return Object.assign(intent, { status: "canceled" });
    const message = `You cannot cancel this PaymentIntent because it has a status of ${status}.`;
    return {
      id: "",
      error: { type: "invalid_request_error", code: "payment_intent_unexpected_state", message, payment_intent: intent },
    };
  }

  #createCustomer(params: Params): StripeObject {
    const customer = {
      id: this.#id("cus"),
      object: "customer",
      created: seconds(),
      email: params["email"],
      metadata: toMetadata(params, "metadata"),
    };
    this.customers.set(customer.id, customer);
    return customer;
  }

  /** A payment without the person, with a stored card. */
  #charge(params: Params): StripeObject | undefined {
    const card = params["payment_method"] ?? "";
    const bank = this.cards.get(card);
    if (!bank || params["off_session"] !== "true" || params["confirm"] !== "true") return undefined;
    const intent = this.#newIntent({
      amount: Number(params["amount"]),
      currency: params["currency"],
      customer: params["customer"],
      payment_method: card,
      metadata: toMetadata(params, "metadata"),
    });
    if (bank === "good") this.#succeed(intent);
    if (bank === "slow") intent["status"] = "processing";
    if (bank === "good" || bank === "slow") return intent;
    const code = bank === "asks" ? "authentication_required" : "card_declined";
    return { id: "", error: { type: "card_error", code, message: "The card was declined.", payment_intent: intent } };
  }

  #createSession(params: Params): StripeObject | undefined {
    if (!this.customers.has(params["customer"] ?? "")) return undefined;
    // Stripe keeps a tax number with a customer only if it may also keep the name.
    if (params["tax_id_collection[enabled]"] === "true" && params["customer_update[name]"] !== "auto")
      return { id: "", error: { type: "invalid_request_error", message: "tax_id_collection needs customer_update[name]" } };
    const id = this.#id("cs");
    const session: StripeObject = {
      id,
      object: "checkout.session",
      mode: params["mode"],
      customer: params["customer"],
      amount_total: Number(params["line_items[0][price_data][unit_amount]"]),
      currency: params["line_items[0][price_data][currency]"],
      metadata: toMetadata(params, "metadata"),
      intent_metadata: toMetadata(params, "payment_intent_data[metadata]"),
      setup_metadata: toMetadata(params, "setup_intent_data[metadata]"),
      success_url: params["success_url"],
      invoice: null,
      billing_address_collection: params["billing_address_collection"] ?? null,
      tax_id_collection: { enabled: params["tax_id_collection[enabled]"] === "true" },
      payment_intent: null,
      payment_status: "unpaid",
      status: "open",
      expires_at: seconds() + 86_400,
      url: `https://checkout.stripe.com/c/pay/${id}`,
    };
    this.sessions.set(id, session);
    return session;
  }

  /** A page of a list, newest first. */
  #list(kind: string, params: Params): StripeObject | undefined {
    if (params["customer"] !== undefined && !this.customers.has(params["customer"])) return undefined;
    const lists: Record<string, Map<string, StripeObject>> = {
      customers: this.customers,
      payment_intents: this.intents,
      refunds: this.refunds,
      disputes: this.disputes,
    };
    const since = Number(params["created[gte]"] ?? 0);
    const all = [...(lists[kind]?.values() ?? [])]
      .toReversed()
      .filter((one) => one["created"] >= since && (params["customer"] === undefined || one["customer"] === params["customer"]));
    const from = params["starting_after"] === undefined ? 0 : all.findIndex(({ id }) => id === params["starting_after"]) + 1;
    const data = all.slice(from, from + Number(params["limit"] ?? 10));
    return { id: "", object: "list", data, has_more: from + data.length < all.length };
  }
}

const failure = (status: number, type: string, message: string, code?: string) =>
  Response.json({ error: { type, message, ...(code && { code }) } }, { status });
