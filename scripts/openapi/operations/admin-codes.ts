/** The operator's paths for prepaid codes. */

import { codeList, codeSeries } from "../../../src/api/schema/admin.ts";
import { newCodes } from "../../../src/api/schema/bodies.ts";
import { codesQuery } from "../../../src/api/schema/queries.ts";
import { answer, operators } from "../definition.ts";
import * as example from "../examples/index.ts";

const given = { amount: 25, note: "Autumn fair" };
const at = { created_at: 1_795_305_600, expires_at: 1_827_000_000 };

export const adminCodes = operators({
  "POST /admin/codes": {
    id: "createCodes",
    summary: "Make prepaid codes",
    description:
      "A user redeems a code once, on the console's Billing page; there is no path of the API for it. The codes are shown only in this answer. If the answer is lost, revoke the series that the list shows and make another.",
    body: { schema: newCodes(), examples: { fair: { count: 2, ...given, expires_at: at.expires_at } } },
    answers: {
      201: answer("The codes.", codeSeries, {
        series: {
          object: "code_series",
          id: "codes_5XwqT0aL2mQe9RbYc7UdKz",
          ...given,
          ...at,
          codes: [
            { id: "code_0aL2mQe9RbYc7UdKz5XwqT", code: "7K2MQ-0RT5W-XB9YH-3DNVA" },
            { id: "code_1bM3nRf0ScZd8VeL06YxrU", code: "QW3E4-RTY56-ZXC7V-BNM89" },
          ],
        },
      }),
    },
    violation: { param: "count", rule: "required" },
  },
  "GET /admin/codes": {
    id: "listCodes",
    summary: "List prepaid codes",
    description: "In the order of their ids; `series` shows those of one request.",
    query: codesQuery(),
    answers: {
      200: answer("Codes, without their texts.", codeList, {
        codes: example.page({
          object: "code",
          id: "code_0aL2mQe9RbYc7UdKz5XwqT",
          series: "codes_5XwqT0aL2mQe9RbYc7UdKz",
          ...given,
          state: "redeemed",
          ...at,
          redeemed_by: "acc_7d2e9c41",
          redeemed_at: 1_795_400_000,
        }),
      }),
    },
  },
  "DELETE /admin/codes/{code}": {
    id: "revokeCode",
    summary: "Revoke prepaid codes",
    description: "A code, or every code of a series that was not redeemed.",
    body: "none",
    answers: { 204: { description: "None of them can be redeemed any more." } },
    errors: ["code_redeemed"],
  },
});
