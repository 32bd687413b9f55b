/** The e-mails of the auth Worker, in four languages. Not among the messages of pages, which the console's script contains. */

import type { Language } from "../../messages/language.ts";

export default {
  en: {
    mail_reset_subject: "Set a new password",
    mail_reset: "Set a new password within an hour:\n\n{link}\n\nIf you did not request this, ignore this e-mail.",
    mail_confirm_subject: "Confirm your e-mail address",
    mail_confirm: "Confirm your e-mail address within an hour:\n\n{link}\n\nIf you did not request this, ignore this e-mail.",
    mail_known_subject: "You already have an account",
    mail_known:
      "Someone, perhaps you, tried to sign up at {host} with {email}, which already belongs to a user. Sign in as before, or set a new password:\n\n{link}\n\nIf this was not you, ignore this e-mail.",
    mail_password_subject: "A new password was set",
    mail_password:
      "A new password was set for {email} at {host}.\n\nIf this was not you, set another one, which ends all sessions:\n\n{link}",
    mail_passkey_subject: "A passkey was added",
    mail_passkey:
      "A passkey was added for {email} at {host}. Whoever has it signs in without the password.\n\nIf this was not you, delete it and end all sessions:\n\n{link}",
    mail_address_subject: "Your e-mail address was replaced",
    mail_address:
      "Your account at {host} has another e-mail address now. This one, {email}, can no longer sign in.\n\nIf this was not you, tell the operator of the gateway at once.",
  },
  zh: {
    mail_reset_subject: "设置新密码",
    mail_reset: "请在一小时内通过此链接设置新密码：\n\n{link}\n\n如果您没有提出此请求，请忽略此邮件。",
    mail_confirm_subject: "确认您的电子邮件地址",
    mail_confirm: "请在一小时内通过此链接确认您的电子邮件地址：\n\n{link}\n\n如果您没有提出此请求，请忽略此邮件。",
    mail_known_subject: "您已有账户",
    mail_known:
      "有人（可能是您本人）尝试在 {host} 用 {email} 注册，而此地址已有用户。请照常登录，或设置新密码：\n\n{link}\n\n如果不是您本人操作，请忽略此邮件。",
    mail_password_subject: "已设置新密码",
    mail_password: "{email} 在 {host} 已设置新密码。\n\n如果不是您本人操作，请重新设置密码，所有设备上的登录随即退出：\n\n{link}",
    mail_passkey_subject: "已添加通行密钥",
    mail_passkey:
      "{email} 在 {host} 已添加通行密钥。持有它的人无需密码即可登录。\n\n如果不是您本人操作，请删除它并在所有设备退出登录：\n\n{link}",
    mail_address_subject: "您的电子邮件地址已更换",
    mail_address: "您在 {host} 的账户现在使用另一个电子邮件地址。{email} 不再能用于登录。\n\n如果不是您本人操作，请立即联系网关的运营方。",
  },
  ko: {
    mail_reset_subject: "새 비밀번호 설정",
    mail_reset: "한 시간 안에 이 링크에서 새 비밀번호를 설정하세요:\n\n{link}\n\n요청하지 않았다면 이 이메일을 무시하세요.",
    mail_confirm_subject: "이메일 주소 확인",
    mail_confirm: "한 시간 안에 이 링크에서 이메일 주소를 확인하세요:\n\n{link}\n\n요청하지 않았다면 이 이메일을 무시하세요.",
    mail_known_subject: "이미 계정이 있습니다",
    mail_known:
      "누군가(본인일 수 있습니다)가 {host}에서 {email}(으)로 가입하려 했지만, 이 주소에는 이미 사용자가 있습니다. 평소처럼 로그인하거나 새 비밀번호를 설정하세요:\n\n{link}\n\n본인이 아니라면 이 이메일을 무시하세요.",
    mail_password_subject: "새 비밀번호가 설정되었습니다",
    mail_password:
      "{host}에서 {email}의 새 비밀번호가 설정되었습니다.\n\n본인이 설정하지 않았다면 비밀번호를 다시 설정하세요. 모든 곳에서 로그아웃됩니다:\n\n{link}",
    mail_passkey_subject: "패스키가 추가되었습니다",
    mail_passkey:
      "{host}에서 {email}에 패스키가 추가되었습니다. 이 패스키로는 비밀번호 없이 로그인할 수 있습니다.\n\n본인이 추가하지 않았다면 삭제하고 모든 곳에서 로그아웃하세요:\n\n{link}",
    mail_address_subject: "이메일 주소가 바뀌었습니다",
    mail_address:
      "{host} 계정의 이메일 주소가 다른 주소로 바뀌었습니다. {email}(으)로는 더 이상 로그인할 수 없습니다.\n\n본인이 변경하지 않았다면 즉시 게이트웨이의 운영자에게 알리세요.",
  },
  ja: {
    mail_reset_subject: "新しいパスワードの設定",
    mail_reset:
      "1 時間以内に次のリンクから新しいパスワードを設定してください。\n\n{link}\n\n心当たりがない場合は、このメールを無視してください。",
    mail_confirm_subject: "メールアドレスの確認",
    mail_confirm:
      "1 時間以内に次のリンクからメールアドレスを確認してください。\n\n{link}\n\n心当たりがない場合は、このメールを無視してください。",
    mail_known_subject: "すでにアカウントがあります",
    mail_known:
      "どなたか（ご本人かもしれません）が {host} に {email} で登録しようとしましたが、このアドレスのユーザーはすでに存在します。これまでどおりログインするか、新しいパスワードを設定してください。\n\n{link}\n\n心当たりがない場合は、このメールを無視してください。",
    mail_password_subject: "新しいパスワードが設定されました",
    mail_password:
      "{host} の {email} に新しいパスワードが設定されました。\n\n心当たりがない場合は、パスワードを設定し直してください。すべての場所でログアウトされます。\n\n{link}",
    mail_passkey_subject: "パスキーが追加されました",
    mail_passkey:
      "{host} の {email} にパスキーが追加されました。このパスキーがあれば、パスワードなしでログインできます。\n\n心当たりがない場合は、削除してすべての場所でログアウトしてください。\n\n{link}",
    mail_address_subject: "メールアドレスが変更されました",
    mail_address:
      "{host} のアカウントのメールアドレスが別のものに変更されました。{email} ではログインできなくなりました。\n\n心当たりがない場合は、すぐにゲートウェイの運営者に連絡してください。",
  },
} satisfies Record<Language, object>;
