/** Texts that a store or a codec may spoil, by name. */
export const TEXTS: Record<string, string> = {
  'quotes and backslashes': `'single' "double" \`back\` “curly” C:\\new\\table \\u0041 \\" \\0 \\`,
  SQL: `Robert'); DROP TABLE books; -- %s ? $1 :a /* */ %_`,
  HTML: '<script>alert("x")</script> &amp; <!-- -->',
  'line breaks, tab and spaces around': '  one\r\ntwo\nthree\rfour\tfive\u2028six ',
  emoji: '😀 👩‍👩‍👧‍👦 🏳️‍🌈 🇺🇳',
  'a combining accent': 'cafe\u0301',
  'the same accent composed': 'caf\u00e9',
  'right to left': 'ספר الكتاب \u202eoverride\u202c',
  'East Asian': '百年の孤独 백년의 고독 𠮷野家',
  'the word null': 'null',
}

/** Texts at the edges of what Unicode counts as well-formed. */
export const EDGE_TEXTS: Record<string, string> = {
  empty: '',
  'one space': ' ',
  'control characters': Array.from({ length: 31 }, (_, i) => String.fromCharCode(i + 1)).join(''),
  'DEL and C1 controls': '\u007f\u0080\u0085\u009f',
  'a byte order mark': '\ufefftitle',
  'U+FFFD, U+FFFE and U+FFFF': '\ufffd\ufffe\uffff',
  'U+D7FF and U+E000, around the surrogates': '\ud7ff\ue000',
  'U+10000 and U+10FFFF': '\u{10000}\u{10ffff}',
  '100 kB of emoji': '😀'.repeat(25_000),
}
