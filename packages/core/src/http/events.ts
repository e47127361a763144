/** What happens below a request, for those who watch; it can't be altered from here. Times are ms. */
export type HttpEvent =
  | { readonly type: 'attempt'; readonly route: string; readonly attempt: number; readonly waited: number }
  | {
      readonly type: 'response';
      readonly route: string;
      readonly attempt: number;
      readonly status: number;
      readonly took: number;
    }
  | {
      readonly type: 'retry';
      readonly route: string;
      readonly attempt: number;
      readonly delay: number;
      readonly reason: string;
    }
  | { readonly type: 'paused'; readonly route: string; readonly for: number };

export type Emit<E> = (event: E) => void;
