/** Signing in and up, in four languages. */

export default {
  en: {
    email: "E-mail",
    password: "Password",
    no_account_yet: "No account yet?",
    have_account: "Have an account?",
    wrong_credentials: "The e-mail address or the password is wrong.",
    too_many_attempts: "Too many attempts. Try again in a minute.",
    sign_up_closed: "New accounts are opened by the operator.",
    sign_up_failed: "This e-mail address cannot be used, or the password has fewer than {minimum} characters.",
  },
  zh: {
    email: "电子邮件",
    password: "密码",
    no_account_yet: "还没有账户？",
    have_account: "已有账户？",
    wrong_credentials: "电子邮件地址或密码错误。",
    too_many_attempts: "尝试次数过多，请一分钟后再试。",
    sign_up_closed: "新账户由运营方开通。",
    sign_up_failed: "无法使用此电子邮件地址，或密码少于 {minimum} 个字符。",
  },
  ko: {
    email: "이메일",
    password: "비밀번호",
    no_account_yet: "계정이 없으신가요?",
    have_account: "계정이 있으신가요?",
    wrong_credentials: "이메일 주소 또는 비밀번호가 올바르지 않습니다.",
    too_many_attempts: "시도가 너무 많습니다. 1분 후에 다시 시도하세요.",
    sign_up_closed: "새 계정은 운영자가 개설합니다.",
    sign_up_failed: "이 이메일 주소를 사용할 수 없거나 비밀번호가 {minimum}자보다 짧습니다.",
  },
  ja: {
    email: "メールアドレス",
    password: "パスワード",
    no_account_yet: "アカウントをお持ちでない場合",
    have_account: "アカウントをお持ちの場合",
    wrong_credentials: "メールアドレスまたはパスワードが正しくありません。",
    too_many_attempts: "試行回数が多すぎます。1 分後にもう一度お試しください。",
    sign_up_closed: "新しいアカウントは運営者が開設します。",
    sign_up_failed: "このメールアドレスは使用できないか、パスワードが {minimum} 文字未満です。",
  },
};
