/** The supported string formats: numbered samples, and a check for each. Other formats are ignored, as in JSON Schema. */

interface Format {
  /** The sample of a number; `filling` makes it longer if the format allows that. */
  sample: (number: number, filling: string) => string;
  test: (text: string) => boolean;
}

const two = (number: number) => String(number).padStart(2, "0");
const day = (number: number) => `2026-${two((Math.floor(number / 28) % 12) + 1)}-${two((number % 28) + 1)}`;
const time = (number: number) => `${two((number + 12) % 24)}:00:00Z`;
const isDay = (text: string) => {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : NaN;
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
};
const isTime = (text: string) => /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i.test(text);
const isDateTime = (text: string) => isDay(text.slice(0, 10)) && /^[t ]$/i.test(text.slice(10, 11)) && isTime(text.slice(11));
const isHost = (text: string) => text.length <= 253 && text.split(".").every((label) => /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i.test(label));
const isEmail = (text: string) => {
  const at = text.lastIndexOf("@");
  return /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/.test(text.slice(0, at)) && at > 0 && isHost(text.slice(at + 1));
};
const isIpv4 = (text: string) => /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.|$)){4}$/.test(text) && !text.endsWith(".");
const isIpv6 = (text: string) => /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]/`);
const isUri = (text: string) => /^[a-z][a-z\d+.-]*:[\w!#$%&'()*+,./:;=?@[\]~-]+$/i.test(text) && URL.canParse(text);
const hasNoSpace = (text: string) => !/[\s"<>\\^`{|}]/.test(text);

const url = { sample: (number: number, filling: string) => `https://example.com/${number + 1}${filling}`, test: isUri };
const email = { sample: (number: number, filling: string) => `sandbox${number + 1}${filling}@example.com`, test: isEmail };
const host = { sample: (number: number, filling: string) => `host${number + 1}${filling.slice(0, 50)}.example.com`, test: isHost };
const relative = { sample: (number: number, filling: string) => `/${number + 1}${filling}`, test: hasNoSpace };

const FORMATS: Record<string, Format> = {
  date: { sample: day, test: isDay },
  time: { sample: time, test: isTime },
  "date-time": { sample: (number) => `${day(number)}T12:00:00Z`, test: isDateTime },
  duration: {
    sample: (number) => `PT${number + 1}M`,
    test: (text) => /^P(?!$)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?$|^P\d+W$/.test(text),
  },
  email,
  "idn-email": email,
  hostname: host,
  "idn-hostname": host,
  ipv4: { sample: (number) => `192.0.2.${(number % 254) + 1}`, test: isIpv4 },
  ipv6: { sample: (number) => `2001:db8::${(number + 1).toString(16)}`, test: isIpv6 },
  uri: url,
  iri: url,
  "uri-reference": relative,
  "iri-reference": relative,
  "uri-template": relative,
  "json-pointer": { sample: relative.sample, test: (text) => /^(?:\/(?:[^~/]|~[01])*)*$/.test(text) },
  "relative-json-pointer": {
    sample: (number) => String(number),
    test: (text) => /^(?:0|[1-9]\d*)(?:#|(?:\/(?:[^~/]|~[01])*)*)$/.test(text),
  },
  uuid: {
    sample: (number) => `00000000-0000-4000-8000-${String(number + 1).padStart(12, "0")}`,
    test: (text) => /^(?:urn:uuid:)?[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i.test(text),
  },
};

/** The format of this name; undefined if it is not supported. */
export function formatNamed(name: string): Format | undefined {
  return Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
}
