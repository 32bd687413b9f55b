/** Characters, in four languages. */

export default {
  en: {
    characters: "Characters",
    no_characters: "There are no characters yet.",
    no_characters_hint: "When a video of a vidA model is completed, you can create one on its task’s page.",
    characters_hint: "Use the username in a video prompt to include the character.",
    copy_username: "Copy @{username}",
    delete_character: "Delete the character {name}?",
    delete_character_warning: "Prompts can no longer mention @{username}. Videos with this character are kept until they expire.",
    character_deleted: "The character is deleted.",
    delete_named: "Delete {name}",
  },
  zh: {
    characters: "角色",
    no_characters: "还没有角色。",
    no_characters_hint: "vidA 模型的视频完成后，可在其任务页面上创建角色。",
    characters_hint: "在视频提示词中写入用户名，该角色就会出现。",
    copy_username: "复制 @{username}",
    delete_character: "删除角色 {name}？",
    delete_character_warning: "提示词将无法再使用 @{username}。含此角色的视频会保留到过期。",
    character_deleted: "已删除角色。",
    delete_named: "删除 {name}",
  },
  ko: {
    characters: "캐릭터",
    no_characters: "아직 캐릭터가 없습니다.",
    no_characters_hint: "vidA 모델의 동영상이 완료되면 해당 작업 페이지에서 만들 수 있습니다.",
    characters_hint: "동영상 프롬프트에 사용자 이름을 쓰면 캐릭터가 등장합니다.",
    copy_username: "@{username} 복사",
    delete_character: "{name} 캐릭터를 삭제할까요?",
    delete_character_warning:
      "프롬프트에서 더 이상 @{username}을(를) 사용할 수 없습니다. 이 캐릭터가 나오는 동영상은 만료될 때까지 유지됩니다.",
    character_deleted: "캐릭터를 삭제했습니다.",
    delete_named: "{name} 삭제",
  },
  ja: {
    characters: "キャラクター",
    no_characters: "キャラクターはまだありません。",
    no_characters_hint: "vidA モデルの動画が完成すると、そのタスクのページで作成できます。",
    characters_hint: "動画のプロンプトにユーザー名を書くと、そのキャラクターが登場します。",
    copy_username: "@{username} をコピー",
    delete_character: "キャラクター {name} を削除しますか？",
    delete_character_warning: "プロンプトで @{username} を使えなくなります。このキャラクターの動画は期限まで残ります。",
    character_deleted: "キャラクターを削除しました。",
    delete_named: "{name} を削除",
  },
};
