/** The platform operations of a task or chat, as Cloudflare bills them. `test/tasks/rows.test.ts` measures the same numbers. */

/** Counts for one task or chat. Operations that several tasks share are divided among them, so not all counts are whole numbers. */
export interface Operations {
  /** Requests of callers and of upstreams that call back. Status queries and files are not counted. */
  requests: number;
  d1Rows: number;
  d1Calls: number;
  /** Keys put or deleted in objects. */
  objectRows: number;
  /** `setAlarm`: a row each. */
  alarmRows: number;
  objectCalls: number;
  /** Alarms that woke an object. */
  alarms: number;
  messages: number;
  /** R2: files written, lists. */
  classA: number;
  /** R2: files read. */
  classB: number;
  /** Without the lines of steps, which are only written with `LOG=all`; one line for a hundred submissions. */
  logLines: number;
}

export const rows = ({ d1Rows, objectRows, alarmRows }: Operations) => d1Rows + objectRows + alarmRows;

/** The number of an account's tasks that end in the same five seconds and share the writes to D1. */
export const together = 16;

/** A video takes 60 seconds, the typical duration, and is polled accordingly or calls back. An image is answered by its start, or takes four seconds. */
export const operations = {
  video: {
    requests: 1,
    d1Rows: 3.63,
    d1Calls: 2.38,
    objectRows: 8.44,
    alarmRows: 9.13,
    objectCalls: 7,
    alarms: 7.06,
    messages: 2,
    classA: 1,
    classB: 0,
    logLines: 1.01,
  },
  "video, called back": {
    requests: 2,
    d1Rows: 3.63,
    d1Calls: 2.38,
    objectRows: 6.44,
    alarmRows: 4.13,
    objectCalls: 7,
    alarms: 2.06,
    messages: 1,
    classA: 1,
    classB: 0,
    logLines: 1.01,
  },
  image: {
    requests: 1,
    d1Rows: 3.31,
    d1Calls: 2.19,
    objectRows: 5.13,
    alarmRows: 3.13,
    objectCalls: 5,
    alarms: 2.06,
    messages: 1,
    classA: 1,
    classB: 0,
    logLines: 1.01,
  },
  "image, polled": {
    requests: 1,
    d1Rows: 3.63,
    d1Calls: 2.38,
    objectRows: 7.44,
    alarmRows: 6.13,
    objectCalls: 7,
    alarms: 4.06,
    messages: 2,
    classA: 1,
    classB: 0,
    logLines: 1.01,
  },
  chat: {
    requests: 1,
    d1Rows: 2.31,
    d1Calls: 0.19,
    objectRows: 2.25,
    alarmRows: 0.13,
    objectCalls: 2,
    alarms: 0.13,
    messages: 0,
    classA: 0,
    classB: 0,
    logLines: 1,
  },
} satisfies Record<string, Operations>;
