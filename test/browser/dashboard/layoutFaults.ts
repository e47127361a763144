/**
 * What a reader of a narrow page would call broken: it scrolls sideways, a word or a label is broken, texts of a line do
 * not stand on it, or a list ends within a row. Runs in the page, so it uses nothing from outside.
 */
export function layoutFaults(): string[] {
  const faults: string[] = [];
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) faults.push(`the page is ${scrollWidth} px wide`);

  const linesOf = (node: Text, start: number, end: number): number => {
    const range = document.createRange();
    range.setStart(node, start);
    range.setEnd(node, end);
    return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
  };
  const isSeen = (node: Text): boolean => (node.parentElement?.checkVisibility() ?? false) && node.data.trim() !== '';
  const texts: Text[] = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (node instanceof Text && isSeen(node)) texts.push(node);
  for (const text of texts) {
    // What has no space for long is broken anywhere.
    for (const { 0: run, index: at } of text.data.matchAll(/(?<!\S)\S{1,24}(?!\S)/g))
      for (const { 0: word, index } of run.matchAll(/[\p{L}\p{N}]+/gu))
        if (linesOf(text, at + index, at + index + word.length) > 1) faults.push(`"${word}" is broken`);
    const isLabel = text.data.length < 26 && text.parentElement?.matches('.muted, dt, .note, b, h2, h3, .chip, button');
    if (isLabel && linesOf(text, 0, text.data.length) > 1) faults.push(`"${text.data}" takes several lines`);
  }

  const context = document.createElement('canvas').getContext('2d');
  const baselineOf = (text: Text): { top: number; base: number } => {
    const range = document.createRange();
    range.selectNodeContents(text);
    const top = range.getClientRects()[0]?.top ?? 0;
    const { fontStyle, fontWeight, fontSize, fontFamily } = getComputedStyle(text.parentElement ?? document.body);
    if (context) context.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
    return { top, base: top + (context?.measureText('x').fontBoundingBoxAscent ?? 0) };
  };
  for (const row of document.querySelectorAll('.list li, .row')) {
    const lines = texts.filter((text) => row.contains(text)).map((text) => ({ text, ...baselineOf(text) }));
    const [first] = lines;
    for (const { text, top, base } of lines)
      if (first && Math.abs(top - first.top) < 12 && Math.abs(base - first.base) > 1)
        faults.push(`"${text.data}" is ${(base - first.base).toFixed(1)} px off "${first.text.data}"`);
  }

  for (const list of document.querySelectorAll('.list')) {
    const { bottom } = list.getBoundingClientRect();
    const rows = [...list.children].map((row) => row.getBoundingClientRect());
    const cut = rows.find((row) => row.top < bottom - 1 && row.bottom > bottom + 1);
    if (cut && !list.querySelector('.problem'))
      faults.push(`"${list.closest('section')?.ariaLabel ?? ''}" ends ${Math.round(bottom - cut.top)} px into a row`);
  }
  return [...new Set(faults)];
}
