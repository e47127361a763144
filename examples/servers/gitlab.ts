// As GitLab responds: issues from a moment on, in the order of their last change.
import type { Answering } from './listingServer.js';

export interface GitlabIssue {
  readonly iid: number;
  readonly title: string;
  readonly state: string;
  readonly updated_at: string;
}

export function gitlabAnswers(token: string): Answering<GitlabIssue> {
  return ({ searchParams }, rows, { headers, limit }) => {
    if (headers['private-token'] !== token) return { status: 401, body: { message: '401 Unauthorized' } };
    const after = Date.parse(searchParams.get('updated_after') ?? '1970-01-01T00:00:00Z');
    const listed = rows
      .filter(({ updated_at }) => Date.parse(updated_at) >= after)
      .sort((a, b) => Date.parse(a.updated_at) - Date.parse(b.updated_at));
    return { body: listed.slice(0, limit(searchParams.get('per_page') ?? 20)) };
  };
}
