import type { ComponentChildren } from 'preact';

export function Panel({
  title,
  class: name = '',
  children,
}: {
  title: string;
  class?: string;
  children: ComponentChildren;
}) {
  return (
    <section class={`panel ${name}`} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

interface ListProps<T> {
  readonly items: readonly T[];
  readonly empty: string;
  readonly children: (item: T, nth: number) => ComponentChildren;
}

/** A list that scrolls inside of its panel, so that nothing below moves. */
export function List<T>({ items, empty, children }: ListProps<T>) {
  if (items.length === 0) return <p class="empty">{empty}</p>;
  return (
    <ul class="list" tabIndex={0}>
      {items.map(children)}
    </ul>
  );
}

export function CopyButton({ text }: { readonly text: string }) {
  const copy = async (event: Event): Promise<void> => {
    const button = event.currentTarget;
    if (!(button instanceof HTMLElement)) return;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Select and copy it';
    }
    setTimeout(() => (button.textContent = 'Copy'), 2_000);
  };
  return (
    <button type="button" onClick={(event) => void copy(event)}>
      Copy
    </button>
  );
}
