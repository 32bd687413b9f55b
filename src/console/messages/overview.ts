/** The overview, in four languages. */

export default {
  en: {
    latest_tasks: "Latest tasks",
    remaining: "Remaining",
    reserved: "Reserved",
    used: "Used",
  },
  zh: {
    latest_tasks: "最近的任务",
    remaining: "剩余",
    reserved: "已预留",
    used: "已使用",
  },
  ko: {
    latest_tasks: "최근 작업",
    remaining: "잔액",
    reserved: "예약됨",
    used: "사용됨",
  },
  ja: {
    latest_tasks: "最近のタスク",
    remaining: "残高",
    reserved: "予約済み",
    used: "使用済み",
  },
};
