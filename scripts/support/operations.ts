/** What a task or chat needs of the platform, as Cloudflare bills it. `test/tasks/rows.test.ts` counts the same from outside. */

/** Counts for one task or chat. What several share is shared out, so they are not all whole numbers. */
export interface Operations {
  /** Of callers and of upstreams that call back. Status queries and files are not counted. */
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
  /** Without those of steps, which only `LOG=all` has. */
  logLines: number;
}

export const rows = ({ d1Rows, objectRows, alarmRows }: Operations) => d1Rows + objectRows + alarmRows;

/** So many of one account end in the same five seconds and share the writing to D1. */
export const together = 16;

/** A video works for 60 seconds, as those before it, and is polled by what is left of that, or calls back; an image is answered by its start, or works for four seconds. */
export const operations = {
  video: {
    requests: 1,
    d1Rows: 4.56,
    d1Calls: 2.38,
    objectRows: 9.44,
    alarmRows: 9.13,
    objectCalls: 10.06,
    alarms: 7.13,
    messages: 2,
    classA: 1,
    classB: 1,
    logLines: 2,
  },
  "video, called back": {
    requests: 2,
    d1Rows: 4.56,
    d1Calls: 2.38,
    objectRows: 7.44,
    alarmRows: 4.13,
    objectCalls: 12.13,
    alarms: 2.06,
    messages: 2,
    classA: 1,
    classB: 1,
    logLines: 3,
  },
  image: {
    requests: 1,
    d1Rows: 4.25,
    d1Calls: 2.19,
    objectRows: 6.13,
    alarmRows: 3.13,
    objectCalls: 8.06,
    alarms: 2.06,
    messages: 1,
    classA: 1,
    classB: 0,
    logLines: 2,
  },
  "image, polled": {
    requests: 1,
    d1Rows: 4.5,
    d1Calls: 2.38,
    objectRows: 8.44,
    alarmRows: 6.13,
    objectCalls: 10.06,
    alarms: 4.06,
    messages: 2,
    classA: 1,
    classB: 0,
    logLines: 2,
  },
  chat: {
    requests: 1,
    d1Rows: 2.31,
    d1Calls: 0.19,
    objectRows: 2.25,
    alarmRows: 0.13,
    objectCalls: 2.06,
    alarms: 0.13,
    messages: 0,
    classA: 0,
    classB: 0,
    logLines: 1,
  },
} satisfies Record<string, Operations>;
