/** The messages that only OpenAI's paths use, in the four languages; other messages come from the gateway's table. */

import { type Language, t } from "../../messages/index.ts";

const sentences = {
  invalid_url: {
    en: "Invalid URL ({method} {path})",
    zh: "无效的 URL（{method} {path}）",
    ko: "잘못된 URL입니다({method} {path})",
    ja: "無効な URL です（{method} {path}）",
  },
  previous_response_not_found: {
    en: "The previous response {id} was not found. Responses are kept for half an hour, unless store is false or the conversation is too large.",
    zh: "未找到之前的响应 {id}。响应保留半小时，除非 store 为 false 或对话过大。",
    ko: "이전 응답 {id}을(를) 찾을 수 없습니다. 응답은 30분 동안 보관되며, store가 false이거나 대화가 너무 크면 보관되지 않습니다.",
    ja: "前のレスポンス {id} が見つかりません。レスポンスは 30 分間保存されますが、store が false の場合や会話が大きすぎる場合は保存されません。",
  },
  response_not_found: {
    en: "The response {id} was not found. Responses are kept for half an hour, unless store is false or the conversation is too large.",
    zh: "未找到响应 {id}。响应保留半小时，除非 store 为 false 或对话过大。",
    ko: "응답 {id}을(를) 찾을 수 없습니다. 응답은 30분 동안 보관되며, store가 false이거나 대화가 너무 크면 보관되지 않습니다.",
    ja: "レスポンス {id} が見つかりません。レスポンスは 30 分間保存されますが、store が false の場合や会話が大きすぎる場合は保存されません。",
  },
  see_models: {
    en: "GET /models lists the names; the operator adds others with the variable ALIASES.",
    zh: "GET /models 列出可用的名称；运营方可通过变量 ALIASES 添加其他名称。",
    ko: "GET /models에서 이름 목록을 볼 수 있습니다. 운영자는 변수 ALIASES로 다른 이름을 추가할 수 있습니다.",
    ja: "使用できる名前は GET /models で確認できます。運営者は変数 ALIASES でほかの名前を追加できます。",
  },
  no_embeddings: {
    en: "This gateway has no embeddings. Configure the base URL and key of another service for embeddings alone: {docs}",
    zh: "本网关不提供嵌入（embeddings）。请仅为嵌入配置其他服务的 base URL 和密钥：{docs}",
    ko: "이 게이트웨이에는 임베딩이 없습니다. 임베딩에만 다른 서비스의 base URL과 키를 설정하세요: {docs}",
    ja: "このゲートウェイに埋め込み（embeddings）はありません。埋め込みにだけ別のサービスの base URL とキーを設定してください：{docs}",
  },
  bad_line: {
    en: "Line {line} of the input: {message}",
    zh: "输入的第 {line} 行：{message}",
    ko: "입력의 {line}번째 줄: {message}",
    ja: "入力の {line} 行目：{message}",
  },
  server_error: {
    en: "The server had an error while processing your request.",
    zh: "服务器处理请求时出错。",
    ko: "요청을 처리하는 중 서버 오류가 발생했습니다.",
    ja: "リクエストの処理中にサーバーエラーが発生しました。",
  },
  bad_form: {
    en: "The request body must be a complete multipart form in UTF-8.",
    zh: "请求体必须是完整的 UTF-8 multipart 表单。",
    ko: "요청 본문은 완전한 UTF-8 multipart 양식이어야 합니다.",
    ja: "リクエスト本文は完全な UTF-8 の multipart フォームでなければなりません。",
  },
  form_too_large: {
    en: "The form is too large: at most 16 MiB in all, 10 MiB an image.",
    zh: "表单过大：总计最多 16 MiB，每张图片最多 10 MiB。",
    ko: "양식이 너무 큽니다: 전체 최대 16 MiB, 이미지당 최대 10 MiB입니다.",
    ja: "フォームが大きすぎます。全体で 16 MiB、画像ごとに 10 MiB までです。",
  },
  not_ready: {
    en: "The task {task} has not ended yet. Repeat the request to wait for it, or query GET /v1/tasks/{task}.",
    zh: "任务 {task} 尚未结束。请重复该请求以继续等待，或查询 GET /v1/tasks/{task}。",
    ko: "{task} 작업이 아직 끝나지 않았습니다. 요청을 다시 보내 기다리거나 GET /v1/tasks/{task}에서 조회하세요.",
    ja: "タスク {task} はまだ終了していません。同じリクエストを繰り返して待つか、GET /v1/tasks/{task} で確認してください。",
  },
  not_supported: {
    en: "is not supported",
    zh: "不受支持",
    ko: "지원되지 않습니다",
    ja: "サポートされていません",
  },
  unknown_tool: {
    en: "is not the name of a tool in tools",
    zh: "不是 tools 中任何工具的名称",
    ko: "tools에 있는 도구의 이름이 아닙니다",
    ja: "tools にあるツールの名前ではありません",
  },
  bad_video: {
    en: "must be a whole MP4 video of at least one second",
    zh: "必须是完整的 MP4 视频，时长至少一秒",
    ko: "1초 이상의 완전한 MP4 동영상이어야 합니다",
    ja: "1 秒以上の完全な MP4 動画でなければなりません",
  },
  bad_name: {
    en: "must be 1 to 80 printable characters",
    zh: "必须是 1 到 80 个可打印字符",
    ko: "출력 가능한 문자 1~80자여야 합니다",
    ja: "印字可能な 1～80 文字でなければなりません",
  },
  video_not_found: {
    en: "The video does not exist.",
    zh: "视频不存在。",
    ko: "동영상이 존재하지 않습니다.",
    ja: "動画は存在しません。",
  },
  video_not_ready: {
    en: "The video is not ready. Query its status with GET /videos/{task}.",
    zh: "视频尚未就绪。请通过 GET /videos/{task} 查询状态。",
    ko: "동영상이 아직 준비되지 않았습니다. GET /videos/{task}에서 상태를 조회하세요.",
    ja: "動画はまだ準備できていません。GET /videos/{task} で状態を確認してください。",
  },
  no_variant: {
    en: "This video has no such file.",
    zh: "该视频没有此文件。",
    ko: "이 동영상에는 해당 파일이 없습니다.",
    ja: "この動画にはそのファイルはありません。",
  },
  character_not_found: {
    en: "The character does not exist.",
    zh: "角色不存在。",
    ko: "캐릭터가 존재하지 않습니다.",
    ja: "キャラクターは存在しません。",
  },
} satisfies Record<string, Record<Language, string>>;

export type Sentence = keyof typeof sentences;
type Values = Record<string, string | number>;

/** Returns a message of these paths or of the gateway, with its `{placeholders}` filled. */
export function translate(language: Language, key: string, values: Values = {}): string {
  const own = sentences[key as Sentence] as Record<Language, string> | undefined;
  return own ? own[language].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole)) : t(language, key, values);
}

/** Describes a field's violation in the gateway's words. */
export const translateViolation = (language: Language, param: string, rule: string, values: Values = {}) =>
  t(language, "violated", { param, reason: translate(language, rule, values) });
